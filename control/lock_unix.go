//go:build unix

package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// lockFile makes and locks the file path and writes this process's id into it. The
// lock ends with the process, even if that is killed. If another process holds it,
// the error is sys.ErrLocked and pid is that process.
func lockFile(path string) (f *os.File, pid int, err error) {
	for {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, 0, err
		}
		if err = sys.Lock(f); err != nil {
			text, _ := io.ReadAll(io.LimitReader(f, 32)) // for the message only
			pid, _ = strconv.Atoi(string(bytes.TrimSpace(text)))
			_ = f.Close()
			return nil, pid, err
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, f.Close())
		}
		// The last owner removes the file while it holds the lock; the file locked here may be
		// that one.
		if now, err := os.Lstat(path); err == nil && os.SameFile(mine, now) {
			break
		}
		_ = f.Close()
	}
	if err := writeOwner(f); err != nil {
		return nil, 0, errors.Join(err, os.Remove(path), f.Close())
	}
	return f, os.Getpid(), nil
}

// writeOwner writes the id of this process into a lock file.
func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// sameFile returns another descriptor of an open file.
func sameFile(f *os.File) (*os.File, error) {
	fd, err := sys.Dup(f)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// backlog is how many connections may wait to be accepted; the system has a limit of its own.
const backlog = 1<<16 - 1

// listenAgain has those who connect to a socket see the credentials of this process.
func listenAgain(c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = os.NewSyscallError("listen", syscall.Listen(int(fd), backlog)) }); e != nil {
		return e
	}
	return err
}

// ownerOnly gives a socket mode 0600 before it is bound, so that it never exists
// with another mode. Some systems ignore it; see bind.
func ownerOnly(c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}

// checkFolder refuses a folder of another user in a folder where all users can make
// folders, such as /tmp: its owner could put another socket there.
func checkFolder(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	// Opening the socket reports a missing or closed folder.
	quiet := func(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) }
	parent, err := os.Stat(filepath.Dir(dir))
	if quiet(err) || err == nil && parent.Mode()&os.ModeSticky == 0 {
		return nil
	}
	info, err := os.Lstat(dir)
	switch {
	case quiet(err):
		return nil
	case err != nil:
		return err
	case info.Mode()&os.ModeSticky != 0:
		return nil // /tmp itself: only the owner of a file there can replace it
	}
	uid := ownerOf(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case uid != 0 && uid != os.Geteuid():
		return fmt.Errorf("the folder %s belongs to uid %d, who could put another socket there", dir, uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write to the folder %s (mode %#o): make it 0700", dir, info.Mode().Perm())
	}
	return nil
}

// ownerOf returns the uid that owns a file, or -1.
func ownerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
