//go:build linux && !amd64 && !arm64

package sys

// HaveSpawn reports whether Spawn works on this processor.
const HaveSpawn = false

// Spawn is not there on this processor.
func (s *Script) Spawn(int) (pid, pidfd int, err error) { return 0, -1, ErrUnsupported }
