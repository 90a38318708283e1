package sys

import "golang.org/x/sys/unix"

// ListenTCP listens at a port of an address of 4 or 16 bytes, in the calling
// thread's network namespace.
func ListenTCP(ip []byte, port int) (int, error) {
	var sa unix.Sockaddr
	family := unix.AF_INET
	switch len(ip) {
	case 4:
		sa = &unix.SockaddrInet4{Port: port, Addr: [4]byte(ip)}
	case 16:
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte(ip)}
	default:
		return -1, unix.EINVAL
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
