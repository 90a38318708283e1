//go:build linux && !amd64 && !arm64

package sys

// Relay is not supported on this processor.
type Relay struct {
	Sock, Listen, Lock, Child, Input, Output, Errors int

	Window    [3]int
	Most      int
	Wake, Env []string
}

// Begin returns ErrUnsupported.
func (r *Relay) Begin() error { return ErrUnsupported }
