//go:build linux && !hostsup_posix && !amd64

package selftest

import "runtime"

// machineCode is a function that returns 42: mov w0, #42; ret. Where it is nil, what needs it is not tried.
var machineCode = map[string][]byte{"arm64": {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6}}[runtime.GOARCH]

// foreign: this processor has one system call table.
func foreign() []*attempt { return nil }
