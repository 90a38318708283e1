//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/require"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// extensionHost is the real extension host with an extension of testdata/vscode and a workspace.
func extensionHost(t testing.TB, version, extension string, with ...change) (h *supervisor.Host, work string) {
	t.Helper()
	work = t.TempDir()
	_, h = alone(t, vscodeHost(t, version, append([]change{func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, Folders: []string{filepath.Join("testdata", "vscode", extension)}, State: filepath.Join(t.TempDir(), "state"),
			Workspace: &vscode.Workspace{Folders: []string{work}},
		})
	}}, with...)...))
	return h, work
}

// ready waits until the extension is active.
func ready(t testing.TB, h *supervisor.Host) {
	t.Helper()
	if err := h.Call(ctx(t), activate, []any{"*", 0}, nil); err != nil {
		t.Fatal(err)
	}
}

// vanished waits until there is no process.
func vanished(t testing.TB, pid int) {
	t.Helper()
	eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, "end of process", pid)
}

// Terminals of extensions are processes on pseudo-terminals.
func TestTerminals(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, work := extensionHost(t, version, "terminals")
		ready(t, h)
		var shell struct{ Pid, Code, Reason, Open int }
		script := `test -t 0 && read a && read b && stty size > seen && echo "$a $b $MARK ${HOME-unset}" >> seen; sleep 1000 & exit 3`
		if err := executes(t, h, &shell, "terminals.shell", work, script, "one", "zwölf"); err != nil {
			t.Fatal(err)
		}
		if shell.Code != 3 || shell.Reason != 2 || shell.Pid <= 0 || shell.Open != 0 {
			t.Errorf("%+v", shell)
		}
		vanished(t, shell.Pid)
		if seen, err := os.ReadFile(filepath.Join(work, "seen")); string(seen) != "30 120\none zwölf before-mark unset\n" {
			t.Errorf("%q, %v", seen, err)
		}

		var pid, reason int
		if err := executes(t, h, &pid, "terminals.sleeps"); err != nil || pid <= 0 {
			t.Fatal(pid, err)
		}
		if err := executes(t, h, &reason, "terminals.dispose"); err != nil || reason != 4 {
			t.Error(reason, err)
		}
		vanished(t, pid)
		var settled bool
		if err := executes(t, h, &settled, "terminals.missing"); err != nil || !settled {
			t.Error(settled, err)
		}

		var played struct {
			Heard []any
			Code  int
		}
		if err := executes(t, h, &played, "terminals.played"); err != nil || played.Code != 7 {
			t.Errorf("%+v, %v", played, err)
		}
		if !slices.Equal(played.Heard[:3], []any{true, "go\r", "end"}) {
			t.Errorf("%q", played.Heard)
		}

		// With the life of the host its terminals end.
		if err := executes(t, h, &pid, "terminals.sleeps"); err != nil || pid <= 0 {
			t.Fatal(pid, err)
		}
		kills(t, h)
		vanished(t, pid)
		eventually(t, func() bool { return executes(t, h, &shell, "terminals.shell", work, "exit 5") == nil }, "the next life")
		if shell.Code != 5 {
			t.Errorf("%+v", shell)
		}
	})
}

// A terminal of a confined host is confined as the host is.
func TestTerminalsAreConfined(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		outside := t.TempDir()
		h, work := extensionHost(t, version, "terminals", func(s *supervisor.HostSpec) {
			opt := s.Protocol.(*vscode.Protocol).Options()
			dir, err := filepath.Abs(opt.Folders[0])
			if err != nil {
				t.Fatal(err)
			}
			opt.Reconnect, opt.Folders = true, []string{dir}
			s.Protocol = vscode.New(opt)
			p, _ := confine.Profile("node")
			read, write := opt.Grants("vs")
			p.Read, p.Write = append(p.Read, read...), append(append(p.Write, write...), opt.Workspace.Folders...)
			p.Exec = append(p.Exec, s.Command[0], "/bin/sh")
			p.Level = confine.None // as strong as it can be here
			s.Sandbox = &p
		})
		ready(t, h)
		if l := h.Status().Sandbox.Level; l == string(confine.None) {
			require.Missing(t, "confinement of any kind")
		}
		var shell struct{ Code int }
		script := "echo in > inside; echo out > " + filepath.Join(outside, "escaped") + " && exit 1; exit 9"
		if err := executes(t, h, &shell, "terminals.shell", work, script); err != nil || shell.Code != 9 {
			t.Errorf("%+v, %v", shell, err)
		}
		if text, err := os.ReadFile(filepath.Join(work, "inside")); string(text) != "in\n" {
			t.Errorf("%q, %v", text, err)
		}
		if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// kills ends the life of a host by SIGKILL.
func kills(t testing.TB, h *supervisor.Host) {
	t.Helper()
	if err := syscall.Kill(*h.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Tasks are processes too; a custom one is played by its extension.
func TestTasks(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, work := extensionHost(t, version, "terminals")
		var fetched struct {
			Names []string
			None  int
			Code  int
		}
		ready(t, h)
		if err := executes(t, h, &fetched, "terminals.fetch"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(fetched.Names, []string{"one", "two"}) || fetched.None != 0 || fetched.Code != 0 {
			t.Errorf("%+v", fetched)
		}
		for kind, want := range map[string][]string{
			"process": {"start process", "process true", "exit 4"}, "shell": {"start shell", "process true", "exit 5"},
			"words": {"start words", "process true", "exit 0"}, "custom": {"start custom", "exit 6"},
			"forever": {"start forever", "process true", "exit undefined"},
		} {
			var got []string
			err := executes(t, h, &got, "terminals.task", kind, work)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v", kind, got, err)
			}
		}
		for name, want := range map[string]string{"task-p": "process\n", "task-s": filepath.Base(work) + " s\n"} {
			if text, err := os.ReadFile(filepath.Join(work, name)); string(text) != want {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	})
}

// What this editor does not have is an exception with the name of the API.
func TestNotSupported(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, _ := extensionHost(t, version, "terminals")
		var got map[string]string
		ready(t, h)
		if err := executes(t, h, &got, "terminals.refused"); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"startDebugging": "debug.startDebugging is not supported", "notebook": "workspace.openNotebookDocument is not supported",
		} {
			if !strings.Contains(got[name], want) {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
	})
}

// The clipboard, external URIs and accounts need no window.
func TestWindow(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, _ := extensionHost(t, version, "terminals")
		ready(t, h)
		var got struct {
			Text, URI, Refused string
			Session            bool
		}
		if err := executes(t, h, &got, "terminals.window"); err != nil {
			t.Fatal(err)
		}
		if got.Text != "kept" || got.URI != "http://localhost:8080/x?y" || !got.Session || !strings.Contains(got.Refused, "authentication.getSession is not supported") {
			t.Errorf("%+v", got)
		}
	})
}
