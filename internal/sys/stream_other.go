//go:build !linux

package sys

import "os"

// Stream is not supported on this system.
type Stream struct{}

// StreamOf returns ErrUnsupported.
func StreamOf(*os.File, bool) (*Stream, error) { return nil, ErrUnsupported }

// TryRead reads nothing.
func (s *Stream) TryRead([]byte) (n int, ok bool) { return 0, false }

// Read is not supported on this system.
func (s *Stream) Read([]byte) (int, error) { return 0, ErrUnsupported }

// TryWrite is not supported on this system.
func (s *Stream) TryWrite([]byte) (int, error) { return 0, ErrUnsupported }

// Write is not supported on this system.
func (s *Stream) Write([]byte) (int, error) { return 0, ErrUnsupported }

// Close does nothing.
func (s *Stream) Close() error { return nil }
