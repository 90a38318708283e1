package control

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// identityOf returns the name of an abstract socket that stands for path: for
// its folder, by device and inode, and its name there. Other names of the folder,
// and the same path in another container, are told apart by that. "" stands for
// a folder that cannot be looked at.
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

// takeIdentity listens at an abstract socket, which ends with the process and
// cannot be removed. When a process of this user or of root has it, the error is
// sys.ErrLocked and pid is that process. A name that another user has taken says
// nothing about supervisors: there is no identity then, as with name "".
func takeIdentity(name string) (held io.Closer, pid int, err error) {
	if name == "" {
		return nil, 0, nil
	}
	addr := &net.UnixAddr{Name: name, Net: "unix"}
	for range 3 { // who has it may be about to end
		l, err := net.ListenUnix("unix", addr)
		if err == nil {
			id := &identity{l: l, done: make(chan struct{})}
			go id.serve()
			return id, 0, nil
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
			return nil, 0, nil //nolint:nilerr // somebody else's
		}
		return nil, cred.Pid, sys.ErrLocked
	}
	return nil, 0, nil // nobody of ours: those answer
}

// identity is a taken identity.
type identity struct {
	l    *net.UnixListener
	done chan struct{}
}

// serve lets whoever asks who has the name see it, and no more.
func (i *identity) serve() {
	defer close(i.done)
	for {
		c, err := i.l.Accept()
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

// Close gives the identity back.
func (i *identity) Close() error {
	err := i.l.Close()
	<-i.done
	return err
}
