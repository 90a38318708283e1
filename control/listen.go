package control

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// InUseError means that a live supervisor owns a control socket.
type InUseError struct {
	Socket string
	PID    int // 0 if it is unknown
}

// Error returns `a supervisor (pid 4711) is already running at /run/hostsup.sock`.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "a supervisor is already running at " + e.Socket
	}
	return fmt.Sprintf("a supervisor (pid %d) is already running at %s", e.PID, e.Socket)
}

// Listener is a control socket with its proofs of ownership: a lock file beside the
// socket, and on Linux an identity that cannot be removed. It is a net.Listener of
// unix connections, and safe for concurrent use.
type Listener struct {
	path string

	mu       sync.Mutex
	cur      *net.UnixListener
	made     os.FileInfo // the socket that was made, so that no other one is removed
	lock     *os.File
	identity io.Closer // nil where the system has no identities
	known    string    // what the identity stands for
	closed   bool
	borrowed bool  // its files are those of another process, until Own
	err      error // of Close
}

// Listen makes the control socket path with mode 0600, and its folder, if missing,
// with 0700. The error is an *[InUseError] if a live process owns path, even if its
// files were removed. Listen replaces the files of a dead owner; any other file at
// path is left alone and is an error. [Listener.Close] removes what Listen made,
// except the folder.
func Listen(path string) (*Listener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	l := &Listener{path: path}
	if err := l.make(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// make makes the folder, the identity, the lock and the socket, as far as they are
// missing.
func (l *Listener) make() error {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the control socket: %w", err)
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	if err := l.identify(); err != nil {
		return err
	}
	if !l.holdsLock() {
		lock, pid, err := lockFile(l.lockPath())
		switch {
		case errors.Is(err, sys.ErrLocked):
			return &InUseError{Socket: l.path, PID: pid}
		case err != nil:
			return fmt.Errorf("lock the control socket: %w", err)
		}
		if l.lock != nil {
			_ = l.lock.Close() // of a file that was removed
		}
		l.lock = lock
	}
	if l.holdsSocket() {
		return nil
	}
	nl, made, err := bind(l.path)
	if err != nil {
		return err
	}
	old := l.cur
	l.cur, l.made = nl, made
	if old != nil {
		_ = old.Close() // Accept goes on with the new one
	}
	return nil
}

// identify takes the identity of the socket for this process. It stands for a name
// in a folder, however the path is spelled, and outlives both files.
func (l *Listener) identify() error {
	name := identityOf(l.path)
	if name == l.known {
		return nil
	}
	held, pid, err := takeIdentity(name)
	if errors.Is(err, sys.ErrLocked) {
		return &InUseError{Socket: l.path, PID: pid}
	}
	if err != nil {
		return fmt.Errorf("take the identity of the control socket: %w", err)
	}
	if l.identity != nil {
		_ = l.identity.Close() // of a folder that was removed
	}
	l.identity, l.known = held, name
	return nil
}

func (l *Listener) lockPath() string { return l.path + ".lock" }

// holdsLock reports whether the lock file exists and belongs to this Listener.
func (l *Listener) holdsLock() bool {
	if l.lock == nil {
		return false
	}
	mine, err := l.lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.lockPath())
	return err == nil && os.SameFile(mine, now)
}

// holdsSocket reports whether the socket exists and belongs to this Listener.
func (l *Listener) holdsSocket() bool {
	if l.cur == nil {
		return false
	}
	now, err := os.Lstat(l.path)
	return err == nil && os.SameFile(now, l.made)
}

func bind(path string) (*net.UnixListener, os.FileInfo, error) {
	if err := clearStale(path); err != nil {
		return nil, nil, err
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return ownerOnly(c) }}
	nl, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	l := nl.(*net.UnixListener)
	l.SetUnlinkOnClose(false) // Close removes it if it is still this one
	made, err := os.Lstat(path)
	if err == nil && made.Mode().Perm() != 0o600 {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make the control socket: %w", err), l.Close(), os.Remove(path))
	}
	return l, made, nil
}

// clearStale removes a socket without a listener. The caller must hold the lock, so
// that no other supervisor interferes.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("examine the control socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket: remove it, or choose another path for the control socket", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if errors.Is(err, syscall.EAGAIN) { // its queue of connections is full
		return &InUseError{Socket: path}
	}
	if err == nil {
		defer func() { _ = c.Close() }()
		cred, _ := sys.PeerCred(c.(*net.UnixConn)) // on an error the pid stays unknown
		return &InUseError{Socket: path, PID: cred.Pid}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the stale control socket: %w", err)
	}
	return nil
}

// checkPath refuses paths for which the system's own error would be unclear.
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

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		cur := l.cur
		l.mu.Unlock()
		c, err := cur.Accept()
		if err == nil {
			return c, nil
		}
		l.mu.Lock()
		replaced := l.cur != cur
		l.mu.Unlock()
		if !replaced {
			return nil, err
		}
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// keepInterval is how often Keep checks the socket.
const keepInterval = 2 * time.Second

// Keep makes the socket and its lock again if they were removed, and calls report
// with what happened: err is nil if they exist again, or the reason why they cannot
// be made, reported once until it changes. Keep checks every two seconds; it returns
// when ctx ends or the Listener is closed.
func (l *Listener) Keep(ctx context.Context, report func(what string, err error)) {
	tick := time.NewTicker(keepInterval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		what, over, err := l.restore()
		switch {
		case over:
			return
		case err != nil:
			if err.Error() != last {
				report(what, err)
			}
			last = err.Error()
			continue
		case what != "":
			report(what, nil)
		}
		last = ""
	}
}

// restore makes again what was removed, and returns what that was; over means that
// the Listener is closed.
func (l *Listener) restore() (what string, over bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.borrowed {
		return "", l.closed, nil
	}
	switch lock, socket := l.holdsLock(), l.holdsSocket(); {
	case lock && socket:
		return "", false, nil
	case lock:
		what = "the control socket " + l.path + " was removed"
	case socket:
		what = "the lock " + l.lockPath() + " of the control socket was removed"
	default:
		what = "the control socket " + l.path + " and its lock were removed"
	}
	return what, false, l.make()
}

// Close stops listening and removes the socket and its lock. Later calls return the
// result of the first.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.err
	}
	l.closed = true
	if l.cur != nil {
		l.err = l.cur.Close()
		if !l.borrowed && l.holdsSocket() {
			l.err = errors.Join(l.err, os.Remove(l.path))
		}
	}
	if l.lock != nil {
		if !l.borrowed && l.holdsLock() {
			l.err = errors.Join(l.err, os.Remove(l.lockPath()))
		}
		l.err = errors.Join(l.err, l.lock.Close())
	}
	if l.identity != nil {
		l.err = errors.Join(l.err, l.identity.Close())
	}
	return l.err
}
