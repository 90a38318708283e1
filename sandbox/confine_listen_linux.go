//go:build !hostsup_posix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/internal/sys/procnet"
	"github.com/hostsup/hostsup/sandbox/netproxy"
)

// addressWait is how long a start waits for an address that the previous life may
// still listen on.
const addressWait = 2 * time.Second

// listen listens on the addresses of the policy's listen. Connections wait there
// until the command runs.
func (s *starting) listen() error {
	for _, text := range s.r.Policy.Listen {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return s.wrong(err)
		}
		l, err := listenAt(at)
		if err != nil {
			return s.confineError("listen at "+text, err)
		}
		s.child.held.onFree(func() { _ = l.Close() })
		s.listeners = append(s.listeners, l)
	}
	return nil
}

func listenAt(at netip.AddrPort) (net.Listener, error) {
	for start, delay := time.Now(), time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Since(start) > addressWait {
			var op *net.OpError
			if errors.As(err, &op) {
				err = op.Err
			}
			return l, err
		}
		time.Sleep(delay) // no event reports a free address
	}
}

// forwardIn forwards connections to the addresses of listen to the loopback of the
// running command.
func (s *starting) forwardIn() {
	if len(s.listeners) == 0 {
		return
	}
	h := s.child.held
	network, err := sys.NetworkOf(s.child.pid, os.Geteuid() != 0)
	if err != nil {
		for _, l := range s.listeners {
			_ = l.Close() // clients are refused
		}
		h.confinement.Missing = append(h.confinement.Missing, fmt.Sprintf("listen: its network cannot be entered: %v", err))
		return
	}
	h.onFree(network.Close)
	proxy := netproxy.New(nil, nil)
	h.onFree(func() { _ = proxy.Close() })
	spawner := s.spawner
	for i, l := range s.listeners {
		at := netip.MustParseAddrPort(s.r.Policy.Listen[i])
		go func() { // ends with Proxy.Close
			_ = proxy.Inward(l, func(ctx context.Context) (net.Conn, error) { return dialIn(ctx, spawner, network, at) })
		}()
	}
}

// dialIn connects to the port of at on the loopback of a network, first with the
// address family of at, then with the other.
func dialIn(ctx context.Context, by *spawner, network *sys.Network, at netip.AddrPort) (c net.Conn, err error) {
	for _, six := range []bool{at.Addr().Is6(), !at.Addr().Is6()} {
		to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		if six {
			to = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
		}
		fd, _, err2 := by.do(&spawn{by: func() (int, int, error) {
			fd, err := network.Socket(six)
			return fd, -1, err
		}})
		if err2 == nil {
			c, err2 = procnet.Connect(ctx, fd, to)
		}
		if err2 == nil {
			return c, nil
		}
		err = errors.Join(err, err2)
	}
	return nil, err
}
