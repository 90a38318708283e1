package sys

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Network is the network of another process. It must be closed.
type Network struct {
	net, user *os.File // user is nil where no user namespace is in the way
}

// NetworkOf opens the network of a process. With join, its user namespace is entered
// first, as an ordinary user must.
func NetworkOf(pid int, join bool) (*Network, error) {
	base := "/proc/" + strconv.Itoa(pid) + "/ns/"
	n := &Network{}
	var err error
	if n.net, err = os.Open(base + "net"); err != nil {
		return nil, err
	}
	if join {
		if n.user, err = os.Open(base + "user"); err != nil {
			n.net.Close()
			return nil, err
		}
	}
	return n, nil
}

// Close closes the descriptors of n.
func (n *Network) Close() {
	n.net.Close()
	if n.user != nil {
		n.user.Close()
	}
}

// Socket makes a TCP socket in the network: a copy of this process enters it, makes
// the socket and passes it back. The caller must be locked to its thread. The
// descriptor is close-on-exec.
func (n *Network) Socket(ipv6 bool) (fd int, err error) {
	ours, theirs, err := SocketPair()
	if err != nil {
		return -1, err
	}
	defer ours.Close()
	var s Script
	s.Step("parent")
	s.ParentDeath()
	s.ParentIs(s.This())
	if n.user != nil {
		s.Step("enter the user namespace")
		s.JoinUser(int(n.user.Fd()))
	}
	s.Step("enter the network namespace")
	s.add(unix.SYS_SETNS, n.net.Fd(), unix.CLONE_NEWNET)
	s.Step("make a socket")
	family := uintptr(unix.AF_INET)
	if ipv6 {
		family = unix.AF_INET6
	}
	made := s.opens(s.add(unix.SYS_SOCKET, family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))
	s.Send(int(theirs.Fd()), []byte{0}, made)
	s.Exit()
	f, err := s.Fork(0, 0)
	theirs.Close()
	if err != nil {
		return -1, err
	}
	if err := f.Await(); err != nil {
		return -1, err
	}
	_, fd, err = RecvFD(ours, make([]byte, 1)) // the end of the copy at the latest
	Reap(f.Pid)
	_ = unix.Close(f.Pidfd)
	if err == nil && fd < 0 {
		err = fmt.Errorf("make a socket: %w", unix.EPIPE)
	}
	return fd, err
}
