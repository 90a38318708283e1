//go:build linux

package integration

import (
	"os"
	"strings"
	"testing"
)

// A workspace edit with file operations is one step of undo for extensions, and the operations of undo
// are told to those of all hosts, without asking them to take part.
func TestFileOperationsOfAnEditAreUndone(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := operators(t, version, map[string]any{"files.enableTrash": false})
		a, b, c, d := written(t, dir, "a.txt", "a\n"), written(t, dir, "b.txt", "b\n"), dir+"/c.txt", dir+"/d.txt"
		resultOf[any](t, h, "worker.show", a)
		if !resultOf[bool](t, h, "worker.apply", ops{{"rename", a, c}, {"insert", c, "new "}, {"create", d, "d\n"}, {"delete", b}}) {
			t.Error("not made")
		}
		happened(t, h, "helper", "will Rename a.txt>c.txt", "will Create d.txt", "will Delete b.txt", "did Rename a.txt>c.txt", "did Create d.txt", "did Delete b.txt")
		text := func(name, want string) {
			t.Helper()
			if got := resultOf[map[string]string](t, h, "worker.texts"); got[name] != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		text("c.txt", "new a\n")

		resultOf[any](t, h, "worker.run", "undo")
		text("a.txt", "a\n")
		onDisk(t, a, "a\n")
		onDisk(t, b, "b\n")
		isGone(t, c)
		isGone(t, d)
		happened(t, h, "helper", "did Create b.txt", "did Delete d.txt", "did Rename c.txt>a.txt")

		resultOf[any](t, h, "worker.run", "redo")
		text("c.txt", "new a\n")
		onDisk(t, d, "d\n")
		isGone(t, a)
		isGone(t, b)
		happened(t, h, "helper", "did Rename a.txt>c.txt", "did Create d.txt", "did Delete b.txt")

		// What has changed since is not undone, and an extension is told so.
		if err := os.WriteFile(d, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := h.Call(ctx(t), "worker.run", []any{"undo"}, nil)
		if err == nil || !strings.Contains(err.Error(), "can not be undone or redone as a whole: "+d+" has changed since") {
			t.Errorf("%v", err)
		}
		text("c.txt", "new a\n")
		onDisk(t, d, "mine")
		onDisk(t, c, "a\n")
		isGone(t, b)
		happened(t, h, "helper")
	})
}
