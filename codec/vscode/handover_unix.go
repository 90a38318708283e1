//go:build unix

package vscode

import (
	"net"
	"os"
	"syscall"
)

// sendFile writes b with a copy of a descriptor.
func sendFile(c *net.UnixConn, b []byte, f *os.File) error {
	n, _, err := c.WriteMsgUnix(b, syscall.UnixRights(int(f.Fd())), nil)
	if err == nil && n < len(b) { // the descriptor went with the first of them
		_, err = c.Write(b[n:])
	}
	return err
}
