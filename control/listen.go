package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// InUseError tells that a live supervisor owns a control socket.
type InUseError struct {
	Socket string
	PID    int // 0 when it could not be learned
}

// Error returns `a supervisor (pid 4711) is already running at /run/hostsup.sock`.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "a supervisor is already running at " + e.Socket
	}
	return fmt.Sprintf("a supervisor (pid %d) is already running at %s", e.PID, e.Socket)
}

// errHeld is returned by lockFile when a live process holds the lock.
var errHeld = errors.New("lock is held")

// Listener is a control socket with the lock that makes it this process's own.
// It is a net.Listener of unix connections.
type Listener struct {
	*net.UnixListener
	path  string
	made  os.FileInfo // the socket that was made, to remove no other one
	lock  *os.File
	close sync.Once
	err   error
}

// Listen makes the control socket path with mode 0600; its folder, when
// missing, with 0700. A live owner is an *[InUseError]; what a dead one left is
// replaced; anything else at path is left alone and is an error. [Listener.Close]
// removes what Listen made, but for the folder.
func Listen(path string) (*Listener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the control socket: %w", err)
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	lock, pid, err := lockFile(path + ".lock")
	if errors.Is(err, errHeld) {
		return nil, &InUseError{Socket: path, PID: pid}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the control socket: %w", err)
	}
	l, err := bind(path)
	if err != nil {
		return nil, errors.Join(err, unlockFile(lock))
	}
	l.lock = lock
	return l, nil
}

func bind(path string) (*Listener, error) {
	if err := clearStale(path); err != nil {
		return nil, err
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return ownerOnly(c) }}
	nl, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	l := &Listener{UnixListener: nl.(*net.UnixListener), path: path}
	l.SetUnlinkOnClose(false) // Close removes it, when it is still this one
	if l.made, err = os.Lstat(path); err == nil && l.made.Mode().Perm() != 0o600 {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the control socket: %w", err), l.UnixListener.Close(), os.Remove(path))
	}
	return l, nil
}

// clearStale removes a socket nobody listens on. The lock is held, so no other
// supervisor comes in between.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the control socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s is there and is not a socket: remove it, or choose another place for the control socket", path)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		defer func() { _ = c.Close() }()
		cred, _ := sys.PeerCred(c.(*net.UnixConn)) // without it the pid stays unknown
		return &InUseError{Socket: path, PID: cred.Pid}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the stale control socket: %w", err)
	}
	return nil
}

// checkPath refuses what the system would refuse in words that help nobody.
func checkPath(path string) error {
	limit := 103
	if runtime.GOOS == "linux" {
		limit = 107
	}
	switch {
	case path == "":
		return errors.New("the control socket has no path")
	case strings.HasPrefix(path, "@") || strings.ContainsRune(path, 0):
		return fmt.Errorf("control socket %q is not a path", path)
	case len(path) > limit:
		return fmt.Errorf("the path of the control socket has %d bytes, the system allows %d: choose a shorter one than %s",
			len(path), limit, path)
	}
	return nil
}

// Close stops listening and removes the socket and its lock.
func (l *Listener) Close() error {
	l.close.Do(func() {
		l.err = l.UnixListener.Close()
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
			l.err = errors.Join(l.err, os.Remove(l.path))
		}
		l.err = errors.Join(l.err, unlockFile(l.lock))
	})
	return l.err
}
