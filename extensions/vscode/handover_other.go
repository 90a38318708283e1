//go:build !unix

package vscode

import (
	"errors"
	"net"
	"os"
)

func sendFile(*net.UnixConn, []byte, *os.File) error { return errors.ErrUnsupported }
