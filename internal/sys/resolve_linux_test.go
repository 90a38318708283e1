package sys

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenPlainInSteps holds that opening step by step, where openat2 is refused,
// gives the same results.
func TestOpenPlainInSteps(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "a/b/f"), []byte("f"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a/l": "b", "a/b/lf": "f", "abs": root} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	before := openDescriptors(t)
	for _, path := range []string{"a", "a/b/f", "a/b", "a/l", "a/l/f", "a/b/lf", "abs/a", "none", "none/x", "a/b/f/x", "a/../c", "../x", "/", root + "/a/b/f", root + "/abs/a", ".", ""} {
		for _, beneath := range []bool{false, true} {
			resolve := uint64(unix.RESOLVE_NO_SYMLINKS)
			if beneath {
				resolve |= unix.RESOLVE_BENEATH
			}
			name := path
			if name == "" {
				name = "."
			}
			how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: resolve}
			fd, want := unix.Openat2(int(top.Fd()), name, how)
			var real string
			if want == nil {
				real, _ = os.Readlink("/proc/self/fd/" + itoa(uintptr(fd)))
				unix.Close(fd)
			}
			got, err := openPlainSteps(int(top.Fd()), path, unix.O_PATH, 0, beneath)
			var at string
			if err == nil {
				at, _ = os.Readlink("/proc/self/fd/" + itoa(uintptr(got)))
				unix.Close(got)
			}
			// ".." below a folder is refused, even if it stays within; a link in the
			// middle is not a folder.
			switch {
			case beneath && path == "a/../c" && err == unix.EXDEV:
			case want == unix.ELOOP && err == unix.ENOTDIR:
			case err != want || at != real:
				t.Errorf("%q, beneath %v: %s %v, the kernel %s %v", path, beneath, at, err, real, want)
			}
		}
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
