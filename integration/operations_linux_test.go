//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// operators is a host with an extension that makes file operations, and one beside it with another.
func operators(t testing.TB, version string, settings map[string]any) (*supervisor.Host, string) {
	t.Helper()
	_, h := alone(t, edited(t, version, "operations", func(s *plan.Spec, o *vscode.Options) {
		s.Affinity = map[string]int{"hostsup.helper": 2}
		o.Settings = settings
	}))
	for _, name := range []string{"worker", "helper"} {
		happened(t, h, name) // makes it active
	}
	return h, t.TempDir()
}

// happened waits for as many events of an extension since the last look, and compares them.
func happened(t testing.TB, h *supervisor.Host, name string, want ...string) {
	t.Helper()
	got := resultOf[[]string](t, h, name+".events", len(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func isGone(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", filepath.Base(path), err)
	}
}

type ops [][]string

func TestParticipantsOfFileOperations(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := operators(t, version, map[string]any{"files.enableTrash": false})
		a, b, c, d := dir+"/a.txt", dir+"/b.txt", dir+"/c.txt", dir+"/d.txt"
		apply := func(list ops, want bool) {
			t.Helper()
			if got := resultOf[bool](t, h, "worker.apply", list); got != want {
				t.Errorf("%v: %v, want %v", list, got, want)
			}
		}
		apply(ops{{"create", a, "a\n"}, {"create", b, "b\n"}}, true)
		happened(t, h, "worker", "will Create a.txt b.txt", "did Create a.txt b.txt")
		happened(t, h, "helper", "will Create a.txt b.txt", "did Create a.txt b.txt")

		// The edits of participants are made in the same step, also on files that they make.
		resultOf[any](t, h, "helper.answer", "Rename", ops{{"insert", b, "renamed: "}, {"create", d, "d\n"}})
		apply(ops{{"rename", a, c}}, true)
		happened(t, h, "worker", "will Rename a.txt>c.txt", "will Create d.txt", "did Create d.txt", "did Rename a.txt>c.txt")
		isGone(t, a)
		onDisk(t, c, "a\n")
		onDisk(t, d, "d\n")
		if got := resultOf[map[string]string](t, h, "worker.texts")["b.txt"]; got != "renamed: b\n" {
			t.Errorf("%q", got)
		}
		happened(t, h, "helper", "will Rename a.txt>c.txt", "will Create d.txt", "did Create d.txt", "did Rename a.txt>c.txt")

		// What participants answer and cannot be made is left out.
		resultOf[any](t, h, "helper.answer", "Delete", ops{{"insert", b, "no"}, {"rename", dir + "/none", a}})
		apply(ops{{"delete", d}}, true)
		isGone(t, d)
		resultOf[any](t, h, "worker.answer", "Delete", "throw")
		apply(ops{{"delete", c}}, true)
		isGone(t, c)
		if got := resultOf[map[string]string](t, h, "worker.texts")["b.txt"]; got != "renamed: b\n" {
			t.Errorf("%q", got)
		}
		happened(t, h, "worker", "will Delete d.txt", "did Delete d.txt", "will Delete c.txt", "did Delete c.txt")

		// An edit that cannot be made has no events, and workspace.fs has none.
		apply(ops{{"delete", d}}, false)
		resultOf[any](t, h, "worker.write", a, "x")
		happened(t, h, "worker")
		onDisk(t, a, "x")
	})
}

func TestParticipantsOfFileOperationsAreTurnedOff(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := operators(t, version, map[string]any{"files.participants.timeout": 0})
		if !resultOf[bool](t, h, "worker.apply", ops{{"create", dir + "/a.txt"}}) {
			t.Error("not made")
		}
		happened(t, h, "worker", "did Create a.txt")
	})
}

// What a workspace edit deletes is in the trash under its name, but not what it overwrites.
func TestDeletesOfEditsGoToTheTrash(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			h, dir := operators(t, version, nil)
			name := "deleted " + version
			path, other := written(t, dir, name, "old"), written(t, dir, "other "+version, "other")
			if !resultOf[bool](t, h, "worker.apply", ops{{"delete", path}, {"create", path, "new"}, {"overwrite", other, "new"}}) {
				t.Error("not made")
			}
			onDisk(t, path, "new")
			onDisk(t, other, "new")
			onDisk(t, filepath.Join(data, "Trash", "files", name), "old")
			isGone(t, filepath.Join(data, "Trash", "files", filepath.Base(other)))
			note, err := os.ReadFile(filepath.Join(data, "Trash", "info", name+".trashinfo"))
			if err != nil {
				t.Fatal(err)
			}
			mentions(t, string(note), "Path="+strings.ReplaceAll(path, " ", "%20"))
		})
	}
}

// An extension finds those of its own host, whose exports it can use, and not those of other hosts, as in
// VS Code.
func TestExtensionsFindThoseOfTheirHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, _ := operators(t, version, nil)
		for id, want := range map[string]string{"hostsup.worker": "[hostsup.worker true]", "hostsup.helper": "[none false]"} {
			if got := fmt.Sprint(resultOf[[]any](t, h, "worker.finds", id)); got != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
		}
	})
}
