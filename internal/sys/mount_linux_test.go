package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/require"
)

// TestAttachFollowsNoLink attaches a mount to the opened folder, whatever has its
// name by then, and opens no folder behind a link.
func TestAttachFollowsNoLink(t *testing.T) {
	if os.Getuid() != 0 {
		require.Privilege(t, "the right to mount")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/a/in", "outside/in"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("a", dir+"/root/link"), os.Symlink(dir+"/outside", dir+"/root/out"), os.Symlink("in", dir+"/root/a/last")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		target string
		swap   bool // the folder around the target is another one by the time of the mount
		step   string
		want   error
	}{
		"plain":       {target: "a/in"},
		"swapped":     {target: "a/in", swap: true},
		"link":        {target: "link/in", step: "open", want: unix.ELOOP},
		"link out":    {target: "out/in", step: "open", want: unix.ELOOP},
		"final link":  {target: "a/last", step: "open", want: unix.ELOOP},
		"out of root": {target: "../outside/in", step: "open", want: unix.EXDEV},
	} {
		t.Run(name, func(t *testing.T) {
			var s Script
			s.Step("begin")
			s.Unshare(NewMount)
			s.PrivateMounts()
			root, err := s.OpenPlain(dir+"/root", FileID{})
			if err != nil {
				t.Fatal(err)
			}
			mount := s.Filesystem("tmpfs", 0)
			s.Step("open")
			at, err := s.OpenIn(root, c.target)
			if err != nil {
				t.Fatal(err)
			}
			where := dir + "/root/" + c.target
			s.Step("swap")
			if c.swap {
				for _, r := range [][2]string{{"/root/a", "/root/was"}, {"/root/out", "/root/a"}} {
					s.add(unix.SYS_RENAMEAT, atCWD, s.text(dir+r[0]), atCWD, s.text(dir+r[1]))
				}
				where = dir + "/root/was/in"
				t.Cleanup(func() {
					if err := errors.Join(os.Rename(dir+"/root/a", dir+"/root/out"), os.Rename(dir+"/root/was", dir+"/root/a")); err != nil {
						t.Error(err)
					}
				})
			}
			s.Step("attach")
			s.Attach(mount, at)
			s.Step("look")
			seen, err := s.OpenPlain(where, FileID{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.MakeText(seen, "new", 0o600, "x"); err != nil {
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
			if !errors.Is(err, c.want) || err != nil && (!errors.As(err, &se) || se.Step != c.step) {
				t.Errorf("%v and not %v at %s", err, c.want, c.step)
			}
			for _, in := range []string{"/outside/in/new", "/root/a/in/new", "/root/was/in/new"} {
				if _, err := os.Lstat(dir + in); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s was made on the disk: %v", in, err)
				}
			}
		})
	}
}
