//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/workbench"
)

// A supervisor that runs as root makes files that the user of the host can go on using.
func TestNewFilesBelongToTheOwnerOfTheirFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root has files of other users")
	}
	f, work := owned(t)
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
		if !owns(f.Guard.(*Confined).state.Load().resolved, info) {
			t.Errorf("%s does not belong to the user of the host", name)
		}
	}
}

// In a folder of another user, what is made for a host belongs to the user of the host, as what the host
// makes itself. A host with a user id of its own could not fill a new folder: nothing is left there then.
func TestNewFoldersInFoldersOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root has files of other users")
	}
	for name, own := range map[string]bool{"a user of the policy": false, "a user id of its own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, work := owned(t)
			if err := errors.Join(os.Chown(work, hostUser+1, hostUser+1), os.Chmod(work, 0o777)); err != nil {
				t.Fatal(err)
			}
			made := work + "/.vscode/settings.json"
			if own {
				if err := f.Guard.(*Confined).Resolve(&policy.Policy{Write: []string{work}}, policy.Limits{}); err != nil {
					t.Fatal(err)
				}
				err := f.WriteFile(made, nil)
				if want := work + "/.vscode: the folder is missing, and one that is made would belong to the owner of the folder above it"; !Named(err, workbench.NameNoPermissions) || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q", err, want)
				}
				if list, err := os.ReadDir(work); err != nil || len(list) != 0 {
					t.Errorf("the folder has %v, %v", list, err)
				}
				if err := f.Mkdir(work + "/empty"); err != nil {
					t.Errorf("an empty folder: %v", err)
				}
				return
			}
			for i := range 2 {
				if err := f.WriteFile(made, []byte{byte(i)}); err != nil {
					t.Errorf("write %d: %v", i, err)
				}
			}
			for _, name := range []string{made, filepath.Dir(made)} {
				if info, err := os.Lstat(name); err != nil || !owns(f.Guard.(*Confined).state.Load().resolved, info) {
					t.Errorf("%s does not belong to the user of the host, %v", name, err)
				}
			}
		})
	}
}

// swapping puts something else at the path that is checked, as a host can right after the check.
type swapping struct {
	*Confined
	swap func()
}

func (s swapping) Check(path string, use workbench.Use) (string, error) {
	real, err := s.Confined.Check(path, use)
	s.swap()
	return real, err
}

func TestFilesThatAreSwappedAfterTheCheck(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may read what the user of the host may not")
	}
	for name, do := range map[string]func(f FS, work string) error{
		"file":   func(f FS, work string) error { _, err := f.ReadFile(work+"/own", 100); return err },
		"write":  func(f FS, work string) error { return f.WriteFile(work+"/own", nil) },
		"folder": func(f FS, work string) error { _, err := f.ReadFile(work+"/dir/file", 100); return err },
		"list":   func(f FS, work string) error { _, err := f.ReadDir(work + "/dir"); return err },
		"copy":   func(f FS, work string) error { return f.Copy(t.Context(), work+"/own", work+"/copy", false) },
		"new":    func(f FS, work string) error { return f.WriteFile(work+"/dir/new", nil) },
		"make":   func(f FS, work string) error { return f.Mkdir(work + "/dir/new") },
		"remove": func(f FS, work string) error { return f.Remove(work+"/dir/file", false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, work := owned(t)
			made := []string{"own", "dir/file", "secret", "private/file"}
			for _, name := range made {
				path := filepath.Join(work, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"own", "dir", "dir/file"} {
				if err := os.Chown(filepath.Join(work, name), hostUser, hostUser); err != nil {
					t.Fatal(err)
				}
			}
			for name, mode := range map[string]os.FileMode{"secret": 0o600, "private": 0o700} {
				if err := os.Chmod(filepath.Join(work, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			once := sync.OnceFunc(func() { // in its own folder the host can rename what it must not read
				for from, to := range map[string]string{"own": "own2", "dir": "dir2"} {
					if err := os.Rename(filepath.Join(work, from), filepath.Join(work, to)); err != nil {
						t.Error(err)
					}
				}
				for from, to := range map[string]string{"secret": "own", "private": "dir"} {
					if err := os.Rename(filepath.Join(work, from), filepath.Join(work, to)); err != nil {
						t.Error(err)
					}
				}
			})
			f.Guard = swapping{f.Guard.(*Confined), once}
			if err := do(f, work); !Named(err, workbench.NameNoPermissions) && !Named(err, NameNotFound) {
				t.Errorf("the host used a file that it must not use: %v", err)
			}
			if b, err := os.ReadFile(filepath.Join(work, "own")); err != nil || string(b) != "x" {
				t.Errorf("the file is now %q, %v", b, err)
			}
			if list, err := os.ReadDir(filepath.Join(work, "dir")); err != nil || len(list) != 1 {
				t.Errorf("the folder has now %v, %v", list, err)
			}
		})
	}
}

const hostUser = 62001

// owned returns the files of a host with a user of its own, and a folder of this user.
func owned(t *testing.T) (f FS, work string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "owner") //nolint:usetesting // the user of the host cannot reach that of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	work = filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(work, hostUser, hostUser)); err != nil {
		t.Fatal(err)
	}
	g := NewConfined()
	if err := g.Resolve(&policy.Policy{Write: []string{work}, User: strconv.Itoa(hostUser)}, policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	return FS{Guard: g}, work
}
