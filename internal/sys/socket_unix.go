//go:build unix

package sys

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SocketPair makes two connected stream sockets: ours, ready for the network poller,
// and theirs, blocking, to be passed to a host. Both are close-on-exec.
func SocketPair() (ours, theirs *os.File, err error) {
	fds, err := socketpair()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if ours, err = NewFile(fds[0], "socketpair"); err != nil {
		_ = unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return ours, os.NewFile(uintptr(fds[1]), "socketpair"), nil
}

// IsSocket reports whether fd is an open socket.
func IsSocket(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil
}

// SendFD writes b to the blocking socket sock and passes a copy of fd with it
// (fd < 0: only b).
func SendFD(sock int, b []byte, fd int) error {
	var oob []byte
	if fd >= 0 {
		oob = unix.UnixRights(fd)
	}
	for {
		n, err := unix.SendmsgN(sock, b, oob, nil, noSigpipe)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n != len(b) {
			err = fmt.Errorf("%d of %d bytes sent", n, len(b))
		}
		return err
	}
}

// RecvFD reads once from a file made by [SocketPair]; fd is the descriptor that came
// with the bytes, close-on-exec, or -1. n is 0 at the end of the stream.
func RecvFD(sock *os.File, b []byte) (n, fd int, err error) {
	fd = -1
	c, err := sock.SyscallConn()
	if err != nil {
		return 0, -1, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	var rerr error
	err = c.Read(func(s uintptr) bool {
		var oobn int
		n, oobn, rerr = recvmsg(int(s), b, oob)
		if rerr == unix.EAGAIN || rerr == unix.EINTR {
			return false
		}
		if rerr == nil && oobn > 0 {
			fd, rerr = rightsIn(oob[:oobn])
		}
		return true
	})
	if err == nil {
		err = rerr
	}
	if err != nil {
		return 0, fd, err
	}
	return n, fd, nil
}

func rightsIn(oob []byte) (int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1, err
	}
	for i := range msgs {
		if fds, err := unix.ParseUnixRights(&msgs[i]); err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	return -1, nil
}

// Cred holds the peer credentials that the kernel recorded when a unix socket was
// connected.
type Cred struct {
	Pid int // 0 where the system does not tell
	Uid int
	Gid int
}

// PeerCred returns the credentials of the peer of c (a *net.UnixConn, or a file that
// is one).
func PeerCred(c syscall.Conn) (Cred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Cred{}, err
	}
	var cred Cred
	var cerr error
	if err := raw.Control(func(fd uintptr) { cred, cerr = peerCred(int(fd)) }); err != nil {
		return Cred{}, err
	}
	return cred, cerr
}
