//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/status"
)

// shows runs a host with an extension that shows a status and progress.
func shows(t *testing.T, version string) (*supervisor.Supervisor, *supervisor.Host, *status.Service) {
	sup, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, Folders: []string{filepath.Join("testdata", "vscode", "shows")}, State: filepath.Join(t.TempDir(), "state"),
		})
	}))
	ready(t, h)
	svc, err := status.Of(h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return sup, h, svc
}

// eventsOf returns the reasons of the events of a kind.
func eventsOf(sup *supervisor.Supervisor, kind string) (reasons []string) {
	for e := range sup.Events(context.Background(), 0, false) {
		if e.Kind == kind {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// What extensions have in the status bar and in the status of languages can be asked for, and a changed
// text is an event: the last one counts.
func TestStatusOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := shows(t, version)
		if err := executes(t, h, nil, "shows.entries"); err != nil {
			t.Fatal(err)
		}
		var got []string
		want := []string{
			"bar  status.extensionMessage saved   false ",
			"bar acme.shows Branch main* on **main** warning true shows.hide",
			"language Shows Tools 1.2 ready error true shows.hide",
		}
		eventually(t, func() bool {
			got = nil
			for _, e := range svc.State(h.Name()).Entries {
				name := e.Name
				if e.Extension == "" { // the name is of the locale of the release
					name = "status.extensionMessage"
				}
				got = append(got, fmt.Sprintf("%s %s %s %s %s %s %v %s", e.Kind, e.Extension, name, e.Text, e.Detail, e.Severity, e.Busy, e.Command))
			}
			return slices.Equal(got, want)
		}, "the entries: ", strings.Join(want, "\n"))
		eventually(t, func() bool { return len(eventsOf(sup, record.KindStatus)) == 3 }, "the events")
		said := eventsOf(sup, record.KindStatus)
		for _, want := range []string{"acme.shows, Branch: main*", "Shows, Tools: 1.2"} {
			if !slices.Contains(said, want) {
				t.Errorf("%q is not in %q", want, said)
			}
		}

		if err := executes(t, h, nil, "shows.often", 2000); err != nil {
			t.Fatal(err)
		}
		if err := executes(t, h, nil, "shows.text", "$(check) done"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return svc.State(h.Name()).Entries[1].Text == "done" }, "the last text")
		if n := len(eventsOf(sup, record.KindStatus)); n > 25 {
			t.Errorf("%d events", n)
		}

		if err := executes(t, h, nil, "shows.hide"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.State(h.Name()).Entries) == 1 }, "the entries to go")
		signal(t, h, syscall.SIGKILL)
		eventually(t, func() bool { return len(svc.State("").Entries) == 0 }, "the end of the life")
	})
}

// Progress of all locations can be asked for and canceled; its begin and end are events. It ends with
// the life of its host.
func TestProgressOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := shows(t, version)
		run := func(name string, args ...any) {
			t.Helper()
			if err := executes(t, h, nil, append([]any{"shows." + name}, args...)...); err != nil {
				t.Fatal(err)
			}
		}
		run("begin", "note", map[string]any{"location": "Notification", "title": "Indexing", "cancellable": true})
		run("begin", "bar", map[string]any{"location": "Window", "title": "Loading"})
		run("begin", "scm", map[string]any{"location": "SourceControl"})
		run("begin", "view", map[string]any{"view": "acme.tree", "title": "Tree"})
		run("report", "note", map[string]any{"message": "src", "increment": 40})
		run("report", "bar", map[string]any{"message": "half"})
		text := func() string {
			var all []string
			for _, p := range svc.State(h.Name()).Progress {
				percent := "-"
				if p.Percent != nil {
					percent = fmt.Sprint(*p.Percent)
				}
				all = append(all, strings.Join([]string{p.Location, p.Extension, p.Title, p.Message, percent, fmt.Sprint(p.Cancelable, p.Canceled)}, " "))
			}
			slices.Sort(all)
			return strings.Join(all, "\n")
		}
		want := "acme.tree acme.shows Tree  - false false\nnotification acme.shows Indexing src 40 true false\nscm acme.shows   - false false\nwindow acme.shows Loading half - false false"
		eventually(t, func() bool { return text() == want }, "the progress")
		eventually(t, func() bool { return len(eventsOf(sup, record.KindProgress)) == 4 }, "the events")
		if said := eventsOf(sup, record.KindProgress); !slices.Contains(said, `acme.shows has the progress "Indexing": began`) {
			t.Errorf("%q", said)
		}

		tree := control.Over(sup)
		now, err := tree.Activity(h.Name())
		if err != nil || len(now.Progress) != 4 {
			t.Fatalf("%+v, %v", now, err)
		}
		for _, p := range now.Progress {
			if err := tree.CancelProgress(p.ID); (err == nil) != (p.Title == "Indexing") {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
		if err := tree.CancelProgress("x"); !errors.Is(err, status.ErrNoProgress) {
			t.Error(err)
		}
		var outcome string
		if err := executes(t, h, &outcome, "shows.outcome", "note"); err != nil || outcome != "canceled" {
			t.Errorf("%q, %v", outcome, err)
		}
		run("end", "view")
		eventually(t, func() bool { return len(svc.State(h.Name()).Progress) == 2 }, "the end of two")
		said := eventsOf(sup, record.KindProgress)
		if n := len(said); n != 6 || !strings.HasPrefix(said[4], `acme.shows has the progress "Indexing": ended after `) || !strings.HasSuffix(said[4], ", canceled") {
			t.Errorf("%q", said)
		}
		signal(t, h, syscall.SIGKILL)
		eventually(t, func() bool { return len(eventsOf(sup, record.KindProgress)) == 8 }, "the events of the end")
		if said := eventsOf(sup, record.KindProgress); !strings.HasSuffix(said[7], ", because its host has ended") || len(svc.State("").Progress) != 0 {
			t.Errorf("%q, %+v", said, svc.State(""))
		}
	})
}
