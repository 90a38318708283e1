//go:build linux

package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// A host is refused what it may not ask for, and is told why.
func TestGuard(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	h := askerHost()
	h.Answers.Replies = []answer.Reply{{Method: "*", Result: "granted"}}
	h.Guard = supervisor.GuardRule{Permissions: []string{"fileSystem.read"}, Roots: []string{root}, RateLimit: &guard.Rate{Count: 50, Per: time.Hour}}
	_, host := alone(t, h)
	ask := func(method string, params any) string {
		var out any
		if err := host.Call(ctx(t), "ask", question{Method: method, Params: params}, &out); err != nil {
			return err.Error()
		}
		return out.(string)
	}
	for _, test := range []struct {
		method string
		params any
		want   string
	}{
		{"anything", nil, "granted"},
		{"fileSystem.read", map[string]any{"path": filepath.Join(root, "a", "b")}, "granted"},
		{"fileSystem.write", map[string]any{"path": filepath.Join(root, "a")}, "fileSystem.write"},
		{"fileSystem.read", map[string]any{"path": "/etc/passwd"}, "PathDenied"},
		{"fileSystem.read", map[string]any{"deep": []any{map[string]any{"uri": "file:///etc/passwd"}}}, "PathDenied"},
		{"fileSystem.read", map[string]any{"path": filepath.Join(root, "out", "passwd")}, "PathDenied"},
		{"fileSystem.read", map[string]any{"path": filepath.Join(root, "..", "x")}, "PathDenied"},
		{"fileSystem.read", map[string]any{"uri": "untitled:one"}, "granted"},
		{"workspace.edit", map[string]any{"changes": map[string]any{"file:///etc/passwd": []any{}}}, "PathDenied"},
		{"workspace.edit", map[string]any{"changes": map[string]any{"file://" + root + "/a": []any{map[string]any{"newText": "/etc/passwd"}}}}, "granted"},
		{"anything", []any{"/etc/passwd"}, "PathDenied"},
		{"anything", []any{[]byte("/etc/passwd")}, "PathDenied"},
		{"anything", []any{"FILE://localhost" + root + "/%2e%2e/%2e%2e/etc/passwd"}, "PathDenied"},
		{"anything", []any{root + "/a", "text", "and/or", "// a comment"}, "granted"},
		{"clipboard.read", nil, "PermissionDenied"},
	} {
		if got := ask(test.method, test.params); !strings.Contains(got, test.want) {
			t.Errorf("%s %v: %s, want %s", test.method, test.params, got, test.want)
		}
	}
	limited := ""
	for i := 0; i < 60 && limited == ""; i++ {
		if got := ask("anything", nil); got != "granted" {
			limited = got
		}
	}
	if !strings.Contains(limited, "RateLimited") {
		t.Errorf("after 60 requests: %q", limited)
	}
}

// What is not the program that it should be is not started.
func TestVerify(t *testing.T) {
	t.Parallel()
	program, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, program); err != nil {
		t.Fatal(err)
	}
	sum := digest.Sum(nil)
	right := demoHost("right", func(h *supervisor.HostSpec) { h.Guard.SHA256 = []string{"sha256:" + hex.EncodeToString(sum)} })
	_, host := alone(t, right)
	if err := host.Call(ctx(t), "pid", nil, nil); err != nil {
		t.Error(err)
	}
	sum[0]++
	wrong := demoHost("wrong", func(h *supervisor.HostSpec) { h.Guard.SHA256 = []string{hex.EncodeToString(sum)} })
	_, host = alone(t, wrong)
	if err := host.Wait(ctx(t), lifecycle.Failed); err != nil {
		t.Fatal(err)
	}
	if st := host.Status(); st.Reason == nil || !strings.Contains(*st.Reason, "SHA-256") {
		t.Errorf("it failed for %v", *st.Reason)
	}
}
