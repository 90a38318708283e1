package sys

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Listen listens at a TCP port of an address of 4 or 16 bytes, in the thread's
// network namespace.
func (s *Script) Listen(ip []byte, port int) (Opened, error) {
	bigPort := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, uint16(port)))
	family, size := uintptr(unix.AF_INET), uintptr(unix.SizeofSockaddrInet4)
	var addr uintptr
	switch len(ip) {
	case 4:
		addr = hold(s, unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigPort, Addr: [4]byte(ip)})
	case 16:
		family, size = unix.AF_INET6, unix.SizeofSockaddrInet6
		addr = hold(s, unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: bigPort, Addr: [16]byte(ip)})
	default:
		return Opened{}, unix.EINVAL
	}
	fd := s.opens(s.add(unix.SYS_SOCKET, family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	if family == unix.AF_INET6 {
		s.add(unix.SYS_SETSOCKOPT, 0, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, hold(s, int32(1)), 4).given(0, fd)
	}
	s.add(unix.SYS_BIND, 0, addr, size).given(0, fd)
	s.add(unix.SYS_LISTEN, 0, 128).given(0, fd)
	return fd, nil
}

// Loopback switches the loopback interface of the thread's network namespace on.
func (s *Script) Loopback() {
	const size = 40 // of a struct ifreq
	var r [size]byte
	copy(r[:unix.IFNAMSIZ], "lo")
	binary.NativeEndian.PutUint16(r[unix.IFNAMSIZ:], unix.IFF_UP|unix.IFF_RUNNING)
	fd := s.opens(s.add(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	s.add(unix.SYS_IOCTL, 0, unix.SIOCSIFFLAGS, hold(s, r)).given(0, fd)
	s.Close(fd)
}
