//go:build !unix

package sys

import "syscall"

// TryWrite writes nothing: the write loop writes.
func TryWrite(syscall.RawConn, []byte) (int, error) { return 0, nil }

// TryWriteBlocking writes nothing: the write loop writes.
func TryWriteBlocking(syscall.RawConn, []byte) (int, error) { return 0, nil }

// ShutdownWrite is not supported on this system.
type TryWriter struct{}

// NewTryWriter returns a writer.
func NewTryWriter(syscall.Conn, bool) *TryWriter { return new(TryWriter) }

// TryWrite takes nothing.
func (*TryWriter) TryWrite([]byte) (int, error) { return 0, nil }

// ShutdownWrite is not supported here.
func ShutdownWrite(syscall.RawConn) error { return ErrUnsupported }
