//go:build linux && !hostsup_posix

package selftest

// machineCode is a function that returns 42: mov eax, 42; ret.
var machineCode = []byte{0xb8, 42, 0, 0, 0, 0xc3}
