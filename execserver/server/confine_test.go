//go:build unix

package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
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
		c, bad := s.confine(&q)
		if bad != nil || c.kind != want || (c.policy == nil) != (want == wire.SandboxNone) {
			t.Errorf("%s: %+v, %v", object, c, bad)
		}
	}

	// What a workspace-write client sends, in a folder without a .git.
	q := sandboxed(t, start, entries(rootRead,
		`{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`,
		`{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},"access":"read","missing_path_behavior":"skip"}`,
		`{"path":{"type":"path","path":"file://`+dir+`/secret"},"access":"deny","missing_path_behavior":"skip"}`))
	c, bad := s.confine(&q)
	if bad != nil || c.policy.Network != policy.NetworkNone || !slices.Contains(c.policy.Read, "/usr") ||
		!slices.Equal(c.policy.Write, []string{dir}) || !slices.Equal(c.policy.Deny, []string{dir + "/secret"}) {
		t.Errorf("%+v, %v", c.policy, bad)
	}
	// With one it cannot be enforced, and is refused.
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, bad := s.confine(&q); bad == nil || bad.Code != wire.CodeInvalidRequest {
		t.Errorf("it was taken: %v", bad)
	}
	for name, entry := range map[string]string{
		"unknown":   `{"path":{"type":"special","value":{"kind":"unknown"}},"access":"read"}`,
		"way out":   `{"path":{"type":"special","value":{"kind":"project_roots","subpath":"../x"}},"access":"read"}`,
		"host":      `{"path":{"type":"path","path":"file://host/x"},"access":"read"}`,
		"not whole": `{"path":{"type":"glob_pattern","pattern":"*.env"},"access":"deny"}`,
	} {
		q := sandboxed(t, start, entries(entry))
		if c, bad := s.confine(&q); bad == nil {
			t.Errorf("%s became %+v", name, c.policy)
		}
	}
	s.opt.Sandbox = &policy.Policy{}
	if _, bad := s.confine(&q); bad == nil {
		t.Error("two sandboxes were combined")
	}
	q.Sandbox = nil
	if c, bad := s.confine(&q); bad != nil || c.policy != s.opt.Sandbox {
		t.Errorf("the default: %+v, %v", c, bad)
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
		if sandbox.Probe().Level.AtLeast(policy.DefaultLevel()) {
			t.Logf("this machine could: %v", g.Err)
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
