//go:build unix

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A supervisor that runs as root makes files that the user of the host can go on using.
func TestNewFilesBelongToTheOwnerOfTheirFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root has files of other users")
	}
	const uid, gid = 62001, 62001
	dir, err := os.MkdirTemp("/tmp", "owner") // the user of the host can reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(work, uid, gid); err != nil {
		t.Fatal(err)
	}
	g := NewConfined()
	if err := g.Resolve(&policy.Policy{Write: []string{work}, User: "62001"}, policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	f := FS{Guard: g}
	for i := range 2 {
		if err := f.WriteFile(work+"/new", []byte{byte(i)}); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		if err := f.WriteFile(work+"/a/b/new", []byte{byte(i)}); err != nil {
			t.Errorf("write %d in new folders: %v", i, err)
		}
	}
	if err := f.Mkdir(work + "/made"); err != nil {
		t.Error(err)
	}
	if err := f.Copy(t.Context(), work+"/a", work+"/copy", false); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"new", "a", "a/b", "a/b/new", "made", "copy", "copy/b", "copy/b/new"} {
		info, err := os.Lstat(filepath.Join(work, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !owns(g.state.Load().resolved, info) {
			t.Errorf("%s does not belong to the user of the host", name)
		}
	}
}
