package sys

import "golang.org/x/sys/unix"

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
