//go:build !linux

package control

import (
	"io"
	"net"
)

// Without abstract sockets there is only the lock file.
func identityOf(string) string                    { return "" }
func takeIdentity(string) (io.Closer, int, error) { return nil, 0, nil }

func hold(l *net.UnixListener) io.Closer { return l }
