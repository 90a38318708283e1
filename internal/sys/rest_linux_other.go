//go:build linux && (cgo || (!amd64 && !arm64))

package sys

// CanRest reports whether Rest works in this program.
const CanRest = false

// Rest is not supported on this processor, nor with a C library in the process.
type Rest struct {
	Sock      int
	Child     int
	Kind      byte
	Wake, Env []string
}

// Begin returns ErrUnsupported.
func (r *Rest) Begin() error { return ErrUnsupported }
