//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	sandboxpolicy "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// filesHost is a host with the extensions for files and a workspace.
func filesHost(t testing.TB, version string, with ...change) (*supervisor.Supervisor, *supervisor.Host, string) {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sup, h := alone(t, vscodeHost(t, version, append([]change{func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, State: filepath.Join(t.TempDir(), "state"), Workspace: &vscode.Workspace{Folders: []string{work}},
		})
		s.Extensions = &plan.Spec{Folders: []manifest.Root{{Dir: "testdata/vscode/disk"}}}
	}}, with...)...))
	return sup, h, work
}

// fsDo has the extension use workspace.fs. The result is text, or the code of the error.
func fsDo(t testing.TB, h *supervisor.Host, args ...any) string {
	t.Helper()
	var raw json.RawMessage
	if err := executes(t, h, &raw, append([]any{"files.do"}, args...)...); err != nil {
		t.Fatal(err)
	}
	var failed struct {
		Error    string
		Writable *bool
	}
	if json.Unmarshal(raw, &failed) == nil && failed.Error != "" {
		return failed.Error
	}
	return strings.ReplaceAll(string(raw), `"`, "")
}

// fsStep is a use of workspace.fs and what comes of it.
type fsStep struct {
	args []any
	want string
}

func fsSteps(t *testing.T, h *supervisor.Host, list ...fsStep) {
	t.Helper()
	for _, s := range list {
		if got := fsDo(t, h, s.args...); got != s.want {
			t.Errorf("%v: %s, want %s", s.args, got, s.want)
		}
	}
}

func TestWorkspaceFiles(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := filesHost(t, version)
		request(t, sup, "onCommand:files.do")
		file := func(name string) string { return filepath.Join(work, name) }
		overwrite, all := map[string]bool{"overwrite": true}, map[string]bool{"recursive": true}
		fsSteps(t, h,
			fsStep{[]any{"writeFile", file("d/a"), "a"}, "done"},
			fsStep{[]any{"rename", file("d/a"), file("b")}, "done"},
			fsStep{[]any{"readFile", file("b")}, "a"},
			fsStep{[]any{"readFile", file("d/a")}, "FileNotFound"},
			fsStep{[]any{"writeFile", file("c"), "c"}, "done"},
			fsStep{[]any{"rename", file("b"), file("c")}, "FileExists"},
			fsStep{[]any{"copy", file("b"), file("c")}, "FileExists"},
			fsStep{[]any{"copy", file("none"), file("c"), overwrite}, "FileNotFound"},
			fsStep{[]any{"readFile", file("c")}, "c"},
			fsStep{[]any{"rename", file("b"), file("c"), overwrite}, "done"},
			fsStep{[]any{"readFile", file("c")}, "a"},
			fsStep{[]any{"copy", file("c"), file("d/e/f")}, "done"},
			fsStep{[]any{"copy", file("d"), file("g")}, "done"},
			fsStep{[]any{"readFile", file("g/e/f")}, "a"},
			fsStep{[]any{"readFile", file("g")}, "FileIsADirectory"},
			fsStep{[]any{"writeFile", file("g"), "x"}, "FileIsADirectory"},
			fsStep{[]any{"copy", file("g"), file("g/h")}, "Unknown"},
			fsStep{[]any{"delete", file("g"), all}, "done"},
			fsStep{[]any{"stat", file("g")}, "FileNotFound"},
			fsStep{[]any{"isWritableFileSystem", "file"}, "{writable:true}"},
			fsStep{[]any{"isWritableFileSystem", "nonsense"}, "{}"},
			fsStep{[]any{"readFile", "nonsense:/a"}, "Unavailable"},
		)
	})
}

// What an extension throws away is in the trash of the user.
func TestWorkspaceTrash(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			sup, h, work := filesHost(t, version)
			request(t, sup, "onCommand:files.do")
			name := "thrown away " + version
			path := written(t, work, name, "text")
			trash := map[string]bool{"useTrash": true}
			fsSteps(t, h, fsStep{[]any{"delete", path, trash}, "done"}, fsStep{[]any{"delete", path, trash}, "FileNotFound"})
			if _, err := os.Stat(path); err == nil {
				t.Error("it is still there")
			}
			if text, err := os.ReadFile(filepath.Join(data, "Trash", "files", name)); string(text) != "text" {
				t.Errorf("%q, %v", text, err)
			}
			note, err := os.ReadFile(filepath.Join(data, "Trash", "info", name+".trashinfo"))
			if err != nil {
				t.Fatal(err)
			}
			mentions(t, string(note), "[Trash Info]", "Path="+strings.ReplaceAll(path, " ", "%20"), "DeletionDate=")
		})
	}
}

// A file system of an extension is served to those beside it, in the same host and in another one.
func TestWorkspaceProviders(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := filesHost(t, version)
		request(t, sup, "onCommand:files.do")
		fsSteps(t, h, // in one host, which serves most of this itself
			fsStep{[]any{"writeFile", "memory:/d/a", "text"}, "done"}, // which activates the extension
			fsStep{[]any{"readFile", "memory:/d/a"}, "text"},
			fsStep{[]any{"readFile", "memory:/none"}, "FileNotFound"},
			fsStep{[]any{"copy", "memory:/d", filepath.Join(work, "first")}, "done"},
			fsStep{[]any{"readFile", filepath.Join(work, "first/a")}, "text"},
			fsStep{[]any{"rename", "memory:/d/a", "memory:/e"}, "done"},
			fsStep{[]any{"readFile", "memory:/e"}, "text"},
		)
		if err := sup.SetExtension(ctx(t), "vs", "hostsup.memory", extensions.Isolate); err != nil {
			t.Fatal(err)
		}
		fsSteps(t, h,
			fsStep{[]any{"writeFile", "memory:/d/a", "text"}, "done"}, // which activates the extension
			fsStep{[]any{"readFile", "memory:/d/a"}, "text"},
			fsStep{[]any{"readFile", "memory:/d/none"}, "FileNotFound"},
			fsStep{[]any{"readFile", "memory:/d"}, "FileIsADirectory"},
			fsStep{[]any{"readDirectory", "memory:/"}, "[[d,2]]"},
			fsStep{[]any{"readDirectory", "memory:/d/a"}, "FileNotADirectory"},
			fsStep{[]any{"copy", "memory:/d", filepath.Join(work, "from")}, "done"},
			fsStep{[]any{"readFile", filepath.Join(work, "from/a")}, "text"},
			fsStep{[]any{"rename", filepath.Join(work, "from"), "memory:/moved"}, "done"},
			fsStep{[]any{"readFile", "memory:/moved/a"}, "text"},
			fsStep{[]any{"stat", filepath.Join(work, "from")}, "FileNotFound"},
			fsStep{[]any{"rename", "memory:/moved/a", "memory:/d/a"}, "FileExists"},
			fsStep{[]any{"delete", "memory:/moved"}, "Unknown"},
			fsStep{[]any{"delete", "memory:/d", map[string]bool{"useTrash": true}}, "Unknown"},
			fsStep{[]any{"delete", "memory:/moved", map[string]bool{"recursive": true}}, "done"},
			fsStep{[]any{"stat", "memory:/moved"}, "FileNotFound"},
			fsStep{[]any{"isWritableFileSystem", "memory"}, "{writable:true}"},
			fsStep{[]any{"isWritableFileSystem", "fixed"}, "{writable:false}"},
			fsStep{[]any{"readFile", "fixed:/a"}, "fixed"},
			fsStep{[]any{"writeFile", "fixed:/a", "x"}, "NoPermissions"},
			fsStep{[]any{"delete", "fixed:/a"}, "NoPermissions"},
		)
	})
}

// What a confined host may not do itself is not done for it.
func TestWorkspaceFilesOfConfinedHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		outside := t.TempDir()
		secret := written(t, outside, "secret", "secret")
		var state string
		sup, h, work := filesHost(t, version, func(s *supervisor.HostSpec) {
			p, ok := s.Protocol.(*vscode.Protocol)
			if !ok {
				t.Fatal(s.Protocol)
			}
			opt := p.Options()
			opt.Reconnect = true
			s.Protocol = vscode.New(opt)
			state = opt.State
			opened(t, opt.Workspace.Folders[0], state)
			confineHost(t, s, "disk", sandboxpolicy.Policy{Write: []string{opt.Workspace.Folders[0], state}})
		})
		request(t, sup, "onCommand:files.do")
		in, out := filepath.Join(work, "in"), filepath.Join(outside, "out")
		link := filepath.Join(work, "link")
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
		fsSteps(t, h,
			fsStep{[]any{"writeFile", in, "in"}, "done"},
			fsStep{[]any{"copy", secret, filepath.Join(work, "got")}, "NoPermissions"},
			fsStep{[]any{"copy", filepath.Join(link, "secret"), filepath.Join(work, "got")}, "NoPermissions"},
			fsStep{[]any{"copy", "/proc/self/environ", filepath.Join(work, "got")}, "NoPermissions"},
			fsStep{[]any{"rename", secret, filepath.Join(work, "got")}, "NoPermissions"},
			fsStep{[]any{"rename", in, out}, "NoPermissions"},
			fsStep{[]any{"copy", in, filepath.Join(link, "out")}, "NoPermissions"},
			fsStep{[]any{"delete", secret, map[string]bool{"useTrash": true}}, "NoPermissions"},
			fsStep{[]any{"delete", in, map[string]bool{"useTrash": true}}, "NoPermissions"},
			fsStep{[]any{"stat", filepath.Join(work, "got")}, "FileNotFound"},
			fsStep{[]any{"rename", in, filepath.Join(work, "renamed")}, "done"},
			fsStep{[]any{"readFile", filepath.Join(work, "renamed")}, "in"},
		)
		if entries, err := os.ReadDir(outside); len(entries) != 1 || err != nil {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// confineHost gives a real host the sandbox of a policy, with what the host itself needs and the extensions
// of a folder of testdata.
func confineHost(t testing.TB, s *supervisor.HostSpec, extensions string, p sandboxpolicy.Policy) {
	t.Helper()
	node, err := filepath.EvalSymlinks(s.Command[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"testdata/vscode/" + extensions, peerDir} {
		path, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.Read = append(p.Read, path)
	}
	p.JIT = true
	p.Read = append(p.Read, "/etc/ssl")
	p.Exec = []string{"/usr", "/lib", "-/lib64", "/bin", "-/etc/ld.so.cache", filepath.Dir(node)}
	p.Write = append(p.Write, s.Env["HOME"])
	s.Sandbox = &p
	opened(t, s.Env["HOME"])
}

// opened lets all users write folders and enter those above them.
func opened(t testing.TB, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for up := filepath.Dir(dir); up != "/tmp" && up != "/"; up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// watches has the extension watch.
func watches(t testing.TB, h *supervisor.Host, name, pattern, base string) {
	t.Helper()
	if err := executes(t, h, nil, "files.watch", name, pattern, base); err != nil {
		t.Fatal(err)
	}
}

// watching makes files until the extension is told of one: a watch is in force soon after it was
// asked for.
func watching(t testing.TB, h *supervisor.Host, name, dir string) {
	t.Helper()
	made := 0
	eventually(t, func() bool {
		made++
		written(t, dir, fmt.Sprintf("probe%d.js", made), "")
		var all []string
		if err := executes(t, h, &all, "files.all"); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(text string) bool { return strings.HasPrefix(text, name+" create "+dir) })
	})
}

// noticed waits until the extension was told something.
func noticed(t testing.TB, h *supervisor.Host, text string) []string {
	t.Helper()
	var all []string
	if err := executes(t, h, &all, "files.seen", text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

// Watchers tell what is made, changed and removed: in the workspace, outside of it, and in the file
// systems of extensions.
func TestFileSystemWatchers(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := filesHost(t, version)
		outside := t.TempDir()
		written(t, work, "first.go", "")
		request(t, sup, "onCommand:files.do")
		watches(t, h, "plain", "**/*.go", "")
		watches(t, h, "in", "**/*.go", work)
		watches(t, h, "any", "**", work)
		watches(t, h, "flat", "*.js", outside)
		watches(t, h, "deep", "**/*.js", outside)
		watches(t, h, "later", "**", filepath.Join(outside, "missing"))
		watches(t, h, "memory", "**", "memory:/")
		watching(t, h, "any", work)
		fsSteps(t, h, fsStep{[]any{"writeFile", filepath.Join(work, "d", "a.go"), "a"}, "done"})
		noticed(t, h, "plain create "+filepath.Join(work, "d", "a.go"))
		noticed(t, h, "in create "+filepath.Join(work, "d", "a.go"))
		written(t, work, "first.go", "changed")
		noticed(t, h, "plain change "+filepath.Join(work, "first.go"))
		fsSteps(t, h, fsStep{[]any{"rename", filepath.Join(work, "d"), filepath.Join(work, "e")}, "done"})
		noticed(t, h, "plain create "+filepath.Join(work, "e", "a.go"))
		if err := os.Remove(filepath.Join(work, "first.go")); err != nil {
			t.Fatal(err)
		}
		noticed(t, h, "in delete "+filepath.Join(work, "first.go"))
		watching(t, h, "flat", outside)
		watching(t, h, "deep", outside)
		for _, dir := range []string{"deep", "missing/x"} {
			if err := os.MkdirAll(filepath.Join(outside, dir), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		written(t, outside, "deep/a.js", "")
		written(t, outside, "b.js", "")
		noticed(t, h, "deep create "+filepath.Join(outside, "deep", "a.js"))
		noticed(t, h, "flat create "+filepath.Join(outside, "b.js"))
		noticed(t, h, "later create "+filepath.Join(outside, "missing", "x"))
		fsSteps(t, h,
			fsStep{[]any{"writeFile", "memory:/a", "a"}, "done"},
			fsStep{[]any{"delete", "memory:/a"}, "done"},
		)
		noticed(t, h, "memory create memory:/a")
		for _, text := range noticed(t, h, "memory delete memory:/a") {
			if strings.HasPrefix(text, "flat") && strings.Contains(text, "a.js") || strings.HasPrefix(text, "plain") && strings.Contains(text, outside) {
				t.Error(text)
			}
		}
	})
}

// After a host was killed, the watchers that its extensions make again tell as before.
func TestFileSystemWatchersAfterKill(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := filesHost(t, version)
		outside := t.TempDir()
		request(t, sup, "onCommand:files.do")
		for life := range 3 {
			watches(t, h, "in", "**/*", work)
			watches(t, h, "out", "**/*", outside)
			watching(t, h, "in", work)
			watching(t, h, "out", outside)
			name := fmt.Sprintf("file%d", life)
			noticed(t, h, "in create "+written(t, work, name, ""))
			noticed(t, h, "out create "+written(t, outside, name, ""))
			if life == 2 {
				break
			}
			if err := syscall.Kill(*h.Status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			runs(t, h, uint64(life+2))
			request(t, sup, "onCommand:files.do")
		}
	})
}
