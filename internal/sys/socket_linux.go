package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

const noSigpipe = unix.MSG_NOSIGNAL

func socketpair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

func recvmsg(fd int, b, oob []byte) (n, oobn int, err error) {
	n, oobn, _, _, err = unix.Recvmsg(fd, b, oob, unix.MSG_CMSG_CLOEXEC)
	return n, oobn, err
}

func peerCred(fd int) (Cred, error) {
	u, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Cred{}, err
	}
	return Cred{Pid: int(u.Pid), Uid: int(u.Uid), Gid: int(u.Gid)}, nil
}

// ClaimName takes a name that one process of this network namespace can have
// at a time, until the file is closed, however that comes about. os.ErrExist
// when somebody has it.
func ClaimName(name string) (*os.File, error) {
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(s, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		unix.Close(s)
		if err == unix.EADDRINUSE {
			return nil, os.ErrExist
		}
		return nil, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(s), name), nil
}
