//go:build linux && !hostsup_posix && !amd64 && !arm64

package selftest

// machineCode is nil: what needs it is not tried here.
var machineCode []byte
