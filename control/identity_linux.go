package control

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// identityOf returns the name of an abstract socket that stands for path: for its
// folder, by device and inode, and its name there. So other names of the folder are
// recognised, and the same path in another container differs. It returns "" if the
// folder cannot be examined.
func identityOf(path string) string {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%x-%x/%s", st.Dev, st.Ino, filepath.Base(path)))
	return fmt.Sprintf("@hostsup/%x", sum[:16])
}

// takeIdentity listens at an abstract socket, which ends with the process and cannot
// be removed. If a process of this user or of root has it, the error is
// sys.ErrLocked and pid is that process. If another user has taken the name, or name
// is "", there is no identity and no error.
func takeIdentity(name string) (held io.Closer, pid int, err error) {
	if name == "" {
		return nil, 0, nil
	}
	addr := &net.UnixAddr{Name: name, Net: "unix"}
	for range 3 { // its owner may be about to end
		l, err := net.ListenUnix("unix", addr)
		if err == nil {
			return hold(l), 0, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, 0, err
		}
		c, err := net.DialUnix("unix", nil, addr)
		if err != nil {
			continue
		}
		cred, err := sys.PeerCred(c)
		_ = c.Close()
		if err != nil || cred.Uid != 0 && cred.Uid != os.Geteuid() {
			return nil, 0, nil //nolint:nilerr // another user's
		}
		return nil, cred.Pid, sys.ErrLocked
	}
	return nil, 0, nil // not a supervisor of this user: those accept
}

// identity is an identity that this process has taken.
type identity struct {
	l    *net.UnixListener
	done chan struct{}

	mu     sync.Mutex
	paused chan struct{} // closed when it goes on; nil: it is not paused
}

// pause stops or resumes accepting connections.
func (i *identity) pause(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if on == (i.paused != nil) {
		return
	}
	if on {
		i.paused = make(chan struct{})
	}
	PauseListener(i.l, on)
	if !on {
		close(i.paused)
		i.paused = nil
	}
}

// awaitResume waits while the identity is paused.
func (i *identity) awaitResume() {
	i.mu.Lock()
	paused := i.paused
	i.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

// hold keeps the identity for which l listens.
func hold(l *net.UnixListener) io.Closer {
	id := &identity{l: l, done: make(chan struct{})}
	go id.serve()
	return id
}

// File returns the open file of the identity.
func (i *identity) File() (*os.File, error) { return i.l.File() }

// listenAgain has callers see the credentials of this process.
func (i *identity) listenAgain() error {
	raw, err := i.l.SyscallConn()
	if err != nil {
		return err
	}
	return listenAgain(raw)
}

// serve accepts connections, so that callers can see the owner's credentials.
func (i *identity) serve() {
	defer close(i.done)
	for {
		c, err := i.l.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			i.awaitResume()
			continue
		}
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

// Close releases the identity.
func (i *identity) Close() error {
	i.pause(false)
	err := i.l.Close()
	<-i.done
	return err
}
