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

// pair is a connection of two files, one for each direction.
type pair struct{ in, out *os.File }

func (p pair) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pair) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pair) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }
