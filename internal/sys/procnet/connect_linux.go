package procnet

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Connect connects a socket of sys.Network.Socket, which it owns from then on.
func Connect(ctx context.Context, fd int, to netip.AddrPort) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	var addr unix.Sockaddr
	if to.Addr().Is4() {
		addr = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	} else {
		addr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	err := unix.Connect(fd, addr)
	for err == unix.EINPROGRESS {
		wait := 100 * time.Millisecond // between two looks at ctx
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, perr := unix.Poll(p, int(wait.Milliseconds()))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case perr != nil && perr != unix.EINTR:
			return nil, perr
		case n > 0:
			code, gerr := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
			if err = gerr; gerr == nil && code != 0 {
				err = unix.Errno(code)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(f)
}
