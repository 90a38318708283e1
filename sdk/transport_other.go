//go:build !unix

package sdk

import (
	"errors"
	"io"
	"net"
	"os"
)

func inherited(int) (io.ReadWriteCloser, error) {
	return nil, errors.New("an inherited socket is not supported on this system")
}

func direct(conn *net.UnixConn) (io.ReadWriteCloser, error) { return conn, nil }

func stdio() (io.ReadWriteCloser, error) { return pair{in: os.Stdin, out: os.Stdout}, nil }
