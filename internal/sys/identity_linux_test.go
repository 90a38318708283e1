package sys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenPlainOpensWhatIsMeant makes a script open paths that lead, or do not lead,
// to the file with an identity, also where openat2 is refused.
func TestOpenPlainOpensWhatIsMeant(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/in", "b/in"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "a", "a/link": "in"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	id := func(name string) FileID {
		info, err := StatPlain(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return IDOf(info)
	}
	for _, c := range []struct {
		path       string
		id         FileID
		want, step error // with and without openat2
	}{
		{"a/in", id("a/in"), nil, nil},
		{"a/in", FileID{}, nil, unix.ENOSYS},
		{"a/in", id("b/in"), unix.ESTALE, unix.ESTALE},
		{"a/in", FileID{id("a/in").Device + 1, id("a/in").Inode}, unix.ESTALE, unix.ESTALE},
		{"a/link", id("a/in"), unix.ESTALE, unix.ESTALE},
		{"link/in", id("b/in"), unix.ELOOP, unix.ESTALE},
		{"link/in", FileID{}, unix.ELOOP, unix.ENOSYS},
		{"none", id("a"), unix.ENOENT, unix.ENOENT},
	} {
		for _, confined := range []bool{false, true} {
			var s Script
			want := c.want
			if confined {
				want = c.step
				s.Step("filter")
				s.NoNewPrivileges()
				s.Filter(NewFilter(1000, []FilterRule{{Number: unix.SYS_OPENAT2, Otherwise: FilterErrno(unix.ENOSYS)}}))
			}
			s.Step("open")
			if _, err := s.OpenPlain(filepath.Join(dir, c.path), c.id); err != nil {
				t.Fatal(err)
			}
			s.Exit()
			f, err := s.Fork(0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err = f.Await(); err == nil {
				Reap(f.Pid)
				unix.Close(f.Pidfd)
			}
			var se *ScriptError
			if !errors.Is(err, want) || err != nil && (!errors.As(err, &se) || se.Step != "open") {
				t.Errorf("%s, confined %v: %v and not %v", c.path, confined, err, want)
			}
		}
	}
}

// TestMakeBeneathFollowsNoLink makes folders on the way to another, but none behind
// a link.
func TestMakeBeneathFollowsNoLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir+"/p", 0o755), os.Mkdir(dir+"/outside", 0o755), os.Symlink("../outside", dir+"/p/link")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := MakeBeneath(dir+"/p", "/a/b", 0o755); err != nil {
			t.Error(err)
		}
	}
	if st, err := os.Stat(dir + "/p/a/b"); err != nil || !st.IsDir() {
		t.Errorf("%v, %v", st, err)
	}
	for path, rel := range map[string]string{dir + "/p": "link/x", dir + "/p/link": "x"} {
		if err := MakeBeneath(path, rel, 0o755); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s below %s: %v", rel, path, err)
		}
	}
	if in, err := os.ReadDir(dir + "/outside"); err != nil || len(in) > 0 {
		t.Errorf("made outside: %v, %v", in, err)
	}
}
