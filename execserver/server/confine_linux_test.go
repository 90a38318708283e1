package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// sandboxed is a start with a sandbox object.
func sandboxed(t *testing.T, p wire.ProcessStartParams, object string) wire.ProcessStartParams {
	t.Helper()
	p.Sandbox = new(wire.SandboxContext)
	q := struct {
		Sandbox json.RawMessage `json:"sandbox"`
	}{json.RawMessage(object)}
	raw, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Sandbox *wire.SandboxContext `json:"sandbox"`
	}
	if err := wire.DecodeParams(raw, &got, false); err != nil {
		t.Fatal(err)
	}
	p.Sandbox = got.Sandbox
	return p
}

const managed = `{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[ENTRIES]}},"windowsSandboxLevel":"disabled"}`

func entries(list ...string) string {
	return strings.ReplaceAll(managed, "ENTRIES", strings.Join(list, ","))
}

const rootRead = `{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}`

func TestSandboxObjectsBecomePolicies(t *testing.T) {
	dir := t.TempDir()
	s := &Server{}
	start := wire.ProcessStartParams{ProcessID: "p", Argv: []string{"x"}, Cwd: wire.FileURI(dir)}

	for object, want := range map[string]wire.SandboxType{
		`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`:                                                             wire.SandboxNone,
		`{"permissions":{"type":"external","network":"restricted"},"windowsSandboxLevel":"disabled"}`:                                      wire.SandboxNone,
		`{"permissions":{"type":"managed","network":"enabled","file_system":{"type":"unrestricted"}},"windowsSandboxLevel":"disabled"}`:    wire.SandboxNone,
		`{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"unrestricted"}},"windowsSandboxLevel":"disabled"}`: wire.SandboxLinuxSeccomp,
		entries(rootRead): wire.SandboxLinuxSeccomp,
	} {
		q := sandboxed(t, start, object)
		c, bad := s.confine(q.Sandbox, &q.Cwd)
		if bad != nil || c.kind != want || (c.policy == nil) != (want == wire.SandboxNone) {
			t.Errorf("%s: %+v, %v", object, c, bad)
		}
	}

	// What a workspace-write client sends, in a folder without a .git.
	q := sandboxed(t, start, entries(rootRead,
		`{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`,
		`{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},"access":"read","missing_path_behavior":"skip"}`,
		`{"path":{"type":"path","path":"file://`+dir+`/secret"},"access":"deny","missing_path_behavior":"skip"}`))
	c, bad := s.confine(q.Sandbox, &q.Cwd)
	if bad != nil || c.policy.Network != policy.NetworkNone || !slices.Contains(c.policy.Read, "/usr") ||
		!slices.Equal(c.policy.Write, []string{dir}) || !slices.Equal(c.policy.Deny, []string{dir + "/secret"}) ||
		!slices.Equal(c.policy.Absent, []string{dir + "/.git", dir + "/.agents", dir + "/.codex", dir + "/.aws"}) {
		t.Errorf("%+v, %v", c.policy, bad)
	}
	// With one it stays as it is.
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, bad = s.confine(q.Sandbox, &q.Cwd)
	if bad != nil || !slices.Equal(c.policy.ReadOnly, []string{dir + "/.git"}) || !slices.Equal(c.policy.Deny, []string{dir + "/secret"}) {
		t.Errorf("%+v, %v", c.policy, bad)
	}
	for name, entry := range map[string]string{
		"unknown": `{"path":{"type":"special","value":{"kind":"unknown"}},"access":"read"}`,
		"way out": `{"path":{"type":"special","value":{"kind":"project_roots","subpath":"../x"}},"access":"read"}`,
		"host":    `{"path":{"type":"path","path":"file://host/x"},"access":"read"}`,
		"pattern": `{"path":{"type":"glob_pattern","pattern":"*.env"},"access":"read"}`,
	} {
		q := sandboxed(t, start, entries(entry))
		if c, bad := s.confine(q.Sandbox, &q.Cwd); bad == nil {
			t.Errorf("%s became %+v", name, c.policy)
		}
	}
	s.opt.Sandbox = strict(dir)
	own, bad := s.confine(nil, &q.Cwd)
	if p := own.policy; bad != nil || own.kind != sandboxType || !p.Ordinary || p.Within != nil || !slices.Equal(p.Write, s.opt.Sandbox.Write) {
		t.Errorf("the server's own: %+v, %v", p, bad)
	}
	if c, bad := s.confine(q.Sandbox, &q.Cwd); bad != nil || !c.policy.Ordinary || c.policy.Within == nil || !slices.Equal(c.policy.Within.Write, s.opt.Sandbox.Write) {
		t.Errorf("within the server's own: %+v, %v", c.policy, bad)
	}
	if s.opt.Sandbox.Ordinary || slices.Contains(s.opt.Sandbox.Read, machine[0]) {
		t.Errorf("the options have been changed: %+v", s.opt.Sandbox)
	}
}

// What the protocol's first server answers to these commands.
func TestSandboxDenied(t *testing.T) {
	c := confining(t, Options{})
	object := entries(rootRead)
	for i, test := range []struct {
		script string
		want   bool
	}{
		{"echo permission denied; exit 0", false},
		{"echo x: Permission denied >&2; exit 1", true},
		{"echo a SANDBOX; exit 127", true},
		{"exit 1", false},
		{"exit 159", true},
		{"kill -SYS $$", true},
		{"echo permission denied; head -c 3000000 /dev/zero; exit 1", false}, // it is not kept
		{"printf 'permission den'; printf 'ied'; exit 1", true},
		{"echo permission denied; kill -9 $$", true},
		{": > /etc/written", true},
	} {
		id := fmt.Sprint(i)
		p := sandboxed(t, shell(id, test.script), object)
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			t.Fatalf("it cannot be enforced here: %v", g.Err)
		}
		if e := c.awaitExit(id); e.SandboxDenied == nil || *e.SandboxDenied != test.want {
			t.Errorf("%s: %+v", test.script, e)
		}
		if r := call[wire.ProcessReadResult](c, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: id, MaxBytes: ptr(uint(1))}); r.SandboxDenied != test.want {
			t.Errorf("%s: read says %v", test.script, r.SandboxDenied)
		}
	}
	c.start(shell("open", "echo permission denied; exit 1"))
	if e := c.awaitExit("open"); e.SandboxDenied == nil || *e.SandboxDenied {
		t.Errorf("without a sandbox: %+v", e)
	}
}

// What a client with the policy workspace-write sends, where the folder is below
// /tmp, too.
func TestWorkspaceWrite(t *testing.T) {
	mustConfine(t)
	for _, base := range []string{"/tmp", "/var/tmp"} {
		dir, err := os.MkdirTemp(base, "workspace") //nolint:usetesting // where it is matters
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for _, f := range []string{".git/config", "old"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, f), []byte("as it was"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := startServer(t, Options{})
		c := dial(t, s.URL())
		c.initialize(wire.InitializeParams{})
		special := func(kind, access, more string) string {
			return `{"path":{"type":"special","value":{"kind":"` + kind + `"` + more + `}},"access":"` + access + `","missing_path_behavior":"skip"}`
		}
		object := func(more ...string) string {
			return entries(append([]string{rootRead, special("project_roots", "write", ""), special("project_roots", "read", `,"subpath":".git"`),
				special("project_roots", "read", `,"subpath":".codex"`)}, more...)...)
		}
		for name, sandbox := range map[string]string{"alone": object(), "with tmp": object(special("slash_tmp", "write", ""))} {
			p := shell(name, `
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1 yes"; else echo "$1 no"; fi; }
try write    "echo x > old && echo x > new"
try read     "cat .git/config && ls /usr/bin && ls /tmp"
try config   "echo x > .git/config"
try hook     "mkdir .git/hooks"
try away     "mv .git git"
try remove   "rm -rf .git"
try missing  "mkdir .codex"
try outside  "echo x > /var/tmp/outside-of-it"
`)
			p.Cwd = wire.FileURI(dir)
			if g := c.answer(c.ask(wire.MethodProcessStart, sandboxed(t, p, sandbox))); g.Kind == wire.KindError {
				t.Fatalf("it cannot be enforced here: %v", g.Err)
			}
			c.awaitClose(name)
			want := "write yes\nread yes\nconfig no\nhook no\naway no\nremove no\nmissing no\noutside no\n"
			if got := c.output(name)[wire.Stdout]; got != want {
				t.Errorf("%s, %s:\n%s", base, name, got)
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, ".git/config")); err != nil || string(b) != "as it was" {
			t.Errorf("%q, %v", b, err)
		}
		stopServer(t, s)
		if exists(filepath.Join(dir, ".codex")) {
			t.Error("what stood in for a missing folder is left")
		}
	}
}

// What was asked for holds, or nothing runs.
func TestSandboxedProcessIsConfinedOrRefused(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "sandboxed") //nolint:usetesting // /tmp is a confined process's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	p := sandboxed(t, shell("p", "echo in > "+dir+"/in; echo out > /var/tmp/out-of-sandbox || echo refused"), entries(rootRead,
		`{"path":{"type":"path","path":"file://`+dir+`"},"access":"write"}`))
	g := c.answer(c.ask(wire.MethodProcessStart, p))
	defer os.Remove("/var/tmp/out-of-sandbox")
	if g.Kind == wire.KindError {
		if require.All() || sandbox.Probe().Level.AtLeast(policy.DefaultLevel(os.Geteuid() == 0)) {
			t.Fatalf("it was refused: %v", g.Err)
		}
		if _, err := os.Stat(dir + "/in"); err == nil {
			t.Error("it was refused and ran")
		}
		return
	}
	if !strings.Contains(g.text, string(wire.SandboxLinuxSeccomp)) {
		t.Error(g.text)
	}
	c.awaitClose("p")
	if _, err := os.Stat("/var/tmp/out-of-sandbox"); err == nil {
		t.Errorf("it wrote where it must not: %q", c.output("p"))
	}
	if _, err := os.Stat(dir + "/in"); err != nil {
		t.Errorf("%v: %q", err, c.output("p"))
	}
}
