package sys

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// ListenTCP listens at an address with a port, "127.0.0.1:80", in the calling
// thread's network namespace.
func ListenTCP(addr string) (int, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return -1, unix.EINVAL
	}
	family, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()})
	if a.Addr().Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	s, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = unix.Bind(s, sa)
	}
	if err == nil {
		err = unix.Listen(s, 128)
	}
	if err != nil {
		unix.Close(s)
		return -1, err
	}
	return s, nil
}

// Listener takes over a listening socket, wherever it was made.
func Listener(fd int) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// MakeTextAt makes a file with text in it, below the open folder dir.
func MakeTextAt(dir int, name string, mode uint32, text string) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	for b := []byte(text); len(b) > 0 && err == nil; {
		var n int
		n, err = unix.Write(fd, b)
		b = b[max(n, 0):]
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	return err
}
