//go:build linux && !hostsup_posix

package selftest

// machineCode is a function that returns 42: mov w0, #42; ret.
var machineCode = []byte{0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6}
