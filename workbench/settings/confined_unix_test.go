//go:build unix

package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// confined returns the guard of a host that may write a folder but not secret.json in it.
func confined(t *testing.T, work string) *disk.Confined {
	t.Helper()
	g := disk.NewConfined()
	p := &policy.Policy{Write: []string{work}, Deny: []string{filepath.Join(work, "secret.json")}}
	if err := g.Resolve(p, policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAConfinedHostGetsNoFileThatItMustNotRead(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, outside := filepath.Join(dir, "work"), filepath.Join(dir, "outside")
	file := filepath.Join(work, "in", ".vscode", "settings.json")
	put(t, file, `{"a.shell": "own"}`)
	put(t, filepath.Join(work, "secret.json"), `{"token": "secret"}`)
	put(t, filepath.Join(outside, ".vscode", "settings.json"), `{"token": "outside"}`)
	for _, name := range []string{work, filepath.Join(work, "in"), filepath.Join(work, "in", ".vscode")} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	guard := confined(t, work)
	s := New(Options{
		Home: dir, Folders: []string{work, filepath.Join(work, "in")},
		Guard: func(string) workbench.Guard { return guard },
	})
	gets := func(want any, name string) {
		t.Helper()
		s.Reload()
		in := workbench.File(filepath.Join(work, "in", "x"))
		if got := s.Get(name, &in, ""); got != want {
			t.Errorf("%s is %v; want %v", name, got, want)
		}
	}
	if _, err := s.Opening("h", 1, []json.RawMessage{json.RawMessage(described)}); err != nil {
		t.Fatal(err)
	}
	gets("own", "a.shell")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "..", "secret.json"), file); err != nil { // below the first folder
		t.Fatal(err)
	}
	gets(nil, "token")
	gets(nil, "a.shell")
	if err := os.MkdirAll(filepath.Join(work, ".vscode"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "secret.json"), filepath.Join(work, ".vscode", "settings.json")); err != nil {
		t.Fatal(err)
	}
	s.Reload()
	top := workbench.File(filepath.Join(work, "x"))
	if got := s.Get("token", &top, ""); got != nil {
		t.Errorf("what the sandbox denies was read: %v", got)
	}
	if err := os.RemoveAll(filepath.Join(work, "in")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(work, "in")); err != nil {
		t.Fatal(err)
	}
	gets(nil, "token")
}
