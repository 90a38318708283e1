//go:build !hostsup_posix

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// keepWait is how long a start waits until the file system of the last life is
// unmounted.
const keepWait = 5 * time.Second

// keep opens the image of a kept work folder, and creates it if it is missing. It
// returns -1 if the work folder is not kept.
func (s *starting) keep() (int, error) {
	w := s.r.Policy.Work
	if w.Path == "" || !w.Keep {
		return -1, nil
	}
	path := w.Image()
	fail := func(what string, err error) (int, error) { return -1, s.confineError(what+" "+path, bare(err)) }
	image, err := openImage(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeImage(path, w.Size, w.Inodes); err != nil {
			return fail("make", err)
		}
		image, err = openImage(path)
	}
	if err != nil {
		return fail("open", err)
	}
	defer image.Close()
	for start, delay := time.Now(), time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		fd, err := sys.LoopMount(image, int(dataAttrs(s.r.Policy.JIT)))
		if err == nil {
			return fd, nil
		}
		if err != syscall.EWOULDBLOCK || time.Since(start) > keepWait {
			if err == syscall.EWOULDBLOCK {
				err = fmt.Errorf("another life has it: %w", err)
			}
			return fail("mount", err)
		}
		time.Sleep(delay)
	}
}

// openImage opens an image that only this user can have written: the kernel is not
// safe against crafted file systems.
func openImage(path string) (*os.File, error) {
	f, err := sys.OpenPlain(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		switch uid, _, _ := sys.OwnersOf(info); {
		case !info.Mode().IsRegular():
			err = errors.New("it is not a regular file")
		case uid != os.Geteuid():
			err = fmt.Errorf("it belongs to user %d, not to the supervisor's user", uid)
		case info.Mode().Perm()&^0o600 != 0:
			err = fmt.Errorf("other users may access it (%s)", info.Mode())
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// makeImage creates an image with an empty file system, completely or not at all.
func makeImage(path string, size, inodes int64) error {
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		return fmt.Errorf("a work folder that is kept needs mkfs.ext4 (package e2fsprogs): %w", err)
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := sys.MakeImage(fresh, size); err != nil {
		return err
	}
	defer func() { _ = os.Remove(fresh) }()
	cmd := exec.Command(mkfs, "-q", "-F", "-m", "0", "-N", strconv.FormatInt(inodes, 10), "-E", "root_owner=0:0,nodiscard", fresh)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, bytes.TrimSpace(out))
	}
	err = os.Link(fresh, path) // fails if another start was faster
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
