package sys

import "golang.org/x/sys/unix"

func peerCred(fd int) (Cred, error) {
	x, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Cred{}, err
	}
	c := Cred{Uid: int(x.Uid)}
	if x.Ngroups > 0 {
		c.Gid = int(x.Groups[0])
	}
	if pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil {
		c.Pid = pid
	}
	return c, nil
}
