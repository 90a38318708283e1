//go:build unix

package vscode

import (
	"net"
	"os"
	"syscall"
)

// sendFile writes b with a copy of a descriptor. The descriptor stays non-blocking, as its
// receiver expects.
func sendFile(c *net.UnixConn, b []byte, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	if cerr := raw.Control(func(fd uintptr) { n, _, err = c.WriteMsgUnix(b, syscall.UnixRights(int(fd)), nil) }); cerr != nil {
		return cerr
	}
	if err == nil && n < len(b) { // the descriptor was sent with the first bytes
		_, err = c.Write(b[n:])
	}
	return err
}
