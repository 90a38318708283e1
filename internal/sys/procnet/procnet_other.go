//go:build !linux

package procnet

import (
	"context"
	"net"
	"net/netip"

	"github.com/hostsup/hostsup/internal/sys"
)

// Listening lists the addresses of TCP sockets at which process pid listens.
func Listening(pid int) ([]netip.AddrPort, error) { return nil, sys.ErrUnsupported }

// AllListening lists the addresses of all TCP sockets that listen in the network
// of this process.
func AllListening() ([]netip.AddrPort, error) { return nil, sys.ErrUnsupported }

// SameNetwork reports whether process pid sees the same network as this one.
func SameNetwork(pid int) (bool, error) { return false, sys.ErrUnsupported }

// DialIn connects to a TCP address of the network that process pid sees.
func DialIn(ctx context.Context, pid int, to netip.AddrPort) (net.Conn, error) {
	return nil, sys.ErrUnsupported
}
