//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/require"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// edited is a host with the extensions of a folder, and of an editor what is
// changed in the options.
func edited(t testing.TB, version, folder string, with ...func(*plan.Spec, *vscode.Options)) supervisor.HostSpec {
	t.Helper()
	dir, err := filepath.Abs("testdata/vscode/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	spec := &plan.Spec{Folders: []manifest.Root{{Dir: dir}}}
	return vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		opt := vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state"), Name: s.Name}
		for _, w := range with {
			w(spec, &opt)
		}
		s.Protocol, s.Extensions = vscode.New(opt), spec
	})
}

// gives calls a command of the memo extension and compares its result, as JSON.
func gives(t testing.TB, h *supervisor.Host, want, command string, args ...any) {
	t.Helper()
	var out json.RawMessage
	if err := executes(t, h, &out, append([]any{"memo." + command}, args...)...); err != nil || string(out) != want {
		t.Errorf("%s %v: %s, %v; want %s", command, args, out, err, want)
	}
}

func TestEditorSettings(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			folders := []string{t.TempDir(), t.TempDir()}
			file := filepath.Join(t.TempDir(), "settings.json")
			text := "{ // mine\n\"memo.greeting\": \"salve\", \"memo.size\": 6, \"[go]\": {\"memo.size\": 8},\n}"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			sup, h := alone(t, edited(t, version, "editor", func(s *plan.Spec, o *vscode.Options) {
				o.SettingsFile, o.Settings = file, map[string]any{"memo.greeting": "ave", "other.thing": []any{1}}
				o.Workspace = &vscode.Workspace{Folders: folders, Untrusted: true}
				s.Workspace = folders
			}))
			if err := sup.Activate(ctx(t), "", "onCommand:memo.run"); err != nil {
				t.Fatal(err)
			}
			gives(t, h, `"ave"`, "get", "memo.greeting")     // the given one goes over the file
			gives(t, h, `6`, "get", "memo.size")             // the file over the default
			gives(t, h, `8`, "get", "memo.size", "go")       // for a language
			gives(t, h, `2`, "get", "memo.size", "markdown") // which is a default of the extension's
			gives(t, h, `[]`, "get", "memo.words")           // as its type has it
			gives(t, h, `[1]`, "get", "other.thing")
			gives(t, h, fmt.Sprintf(`{"name":"%s, %s","trusted":false,"folders":["%s","%s"]}`,
				filepath.Base(folders[0]), filepath.Base(folders[1]), folders[0], folders[1]), "workspace")
		})
	}
}

// A confined host runs its extensions, which write where they may keep things
// and nowhere else; so does one for an extension that is put apart.
func TestEditorConfined(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			var opt vscode.Options
			var dir string
			spec := edited(t, version, "editor", func(s *plan.Spec, o *vscode.Options) {
				o.Reconnect = true
				opt, dir = *o, s.Folders[0].Dir
			})
			p, _ := confine.Profile("node")
			read, write := opt.Grants("vs")
			p.Read, p.Write = append(append(p.Read, dir), read...), append(p.Write, write...)
			p.Exec = append(p.Exec, spec.Command[0])
			p.Level = confine.None // as strong as it can be here
			spec.Sandbox = &p
			sup, h := alone(t, spec)
			kept := filepath.Join(opt.State, "vs", "kept")
			runsAll := func(h *supervisor.Host) {
				t.Helper()
				gives(t, h, `null`, "write", kept, "text")
				gives(t, h, `"text"`, "read", kept)
				if text, err := os.ReadFile(kept); err != nil || string(text) != "text" {
					t.Errorf("%q, %v", text, err)
				}
				for _, path := range []string{filepath.Join(outside, "x"), filepath.Join(dir, "memo", "x")} {
					if err := executes(t, h, nil, "memo.write", path, "text"); err == nil || !strings.Contains(err.Error(), "EACCES") && !strings.Contains(err.Error(), "EROFS") && !strings.Contains(err.Error(), "ENOENT") {
						t.Errorf("%s: %v", path, err)
					}
					if _, err := os.Stat(path); err == nil {
						t.Errorf("%s was written", path)
					}
				}
			}
			runsAll(h)
			if l := h.Status().Sandbox.Level; l == string(confine.None) {
				require.Missing(t, "confinement of any kind")
			}
			if err := sup.SetExtension(ctx(t), "vs", "hostsup.memo", extensions.Isolate); err != nil {
				t.Fatal(err)
			}
			runsAll(h)
			if s := extensionOf(t, sup, "memo"); s.State != "active" || s.Place != "vs~hostsup.memo" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What extensions keep is where it was after they have moved, after a crash, and
// for the next supervisor.
func TestEditorMemory(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			spec := edited(t, version, "editor", func(_ *plan.Spec, o *vscode.Options) {
				o.Name, o.Workspace = "", &vscode.Workspace{Folders: []string{work}}
			})
			var where string
			same := func(h *supervisor.Host) {
				t.Helper()
				var now struct{ Global, Workspace string }
				if err := executes(t, h, &now, "memo.storage"); err != nil {
					t.Fatal(err)
				}
				if at := now.Global + " " + now.Workspace; where == "" {
					where = at
				} else if at != where {
					t.Errorf("%s, and %s before", at, where)
				}
				gives(t, h, `{"n":1}`, "recall", "k")
				gives(t, h, `"here"`, "recall", "k", true)
			}
			sup, h := alone(t, spec)
			for i := range 3 { // of several at once the last one stays
				gives(t, h, `null`, "remember", "k", map[string]int{"n": i - 1})
			}
			gives(t, h, `null`, "remember", "k", "here", true)
			same(h)
			// A life that is killed leaves its lock, with an id that its namespace had
			// and that of the next life has again.
			signal(t, h, syscall.SIGKILL)
			runs(t, h, 2)
			same(h)
			if err := sup.SetExtension(ctx(t), "vs", "hostsup.memo", extensions.Isolate); err != nil {
				t.Fatal(err)
			}
			if _, err := sup.Host("vs~hostsup.memo"); err != nil {
				t.Fatal(err)
			}
			runs(t, h, 3) // it was active there
			same(h)
			if s := extensionOf(t, sup, "memo"); s.State != "active" || s.Place != "vs~hostsup.memo" {
				t.Errorf("%+v", s)
			}
			end(t, sup)
			_, h = alone(t, spec)
			same(h)
		})
	}
}
