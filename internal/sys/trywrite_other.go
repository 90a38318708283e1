//go:build !unix

package sys

import "syscall"

// TryWrite takes nothing: writing is left to the write loop.
func TryWrite(syscall.RawConn, []byte) (int, error) { return 0, nil }

// TryWriteBlocking takes nothing, likewise.
func TryWriteBlocking(syscall.RawConn, []byte) (int, error) { return 0, nil }

// TryWriter takes nothing, likewise.
type TryWriter struct{}

// NewTryWriter returns a writer.
func NewTryWriter(syscall.Conn, bool) *TryWriter { return new(TryWriter) }

// TryWrite takes nothing.
func (*TryWriter) TryWrite([]byte) (int, error) { return 0, nil }

// ShutdownWrite is not supported here.
func ShutdownWrite(syscall.RawConn) error { return ErrUnsupported }
