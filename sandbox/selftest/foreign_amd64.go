//go:build linux && !hostsup_posix

package selftest

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineCode is a function that returns 42: mov eax, 42; ret.
var machineCode = []byte{0xb8, 42, 0, 0, 0, 0xc3}

// int80 makes a system call the way 32-bit programs do.
func int80(nr uintptr) uintptr

// foreign are attempts by the other system call tables of this processor, where a filter's numbers mean other calls.
func foreign() []*attempt {
	return family(Calls, attempt{}, []attempt{
		{name: "int80", about: "make a system call of 32-bit programs", do: func(*inside) error {
			const getpid = 20
			return unless(int80(getpid) == uintptr(os.Getpid()), "function not implemented")
		}},
		{name: "x32", about: "make a system call of the x32 table", do: func(*inside) error {
			const x32 = 0x40000000
			return call(unix.SYS_GETPID | x32)
		}},
		{name: "io-ports", about: "speak to the hardware's ports", do: func(*inside) error {
			if call(unix.SYS_IOPL, 3) == nil {
				return nil
			}
			return call(unix.SYS_IOPERM, 0x80, 1, 1)
		}},
		{name: "segments", about: "change the processor's segment table", do: func(*inside) error {
			var table [64]byte
			return call(unix.SYS_MODIFY_LDT, 0, uintptr(unsafe.Pointer(&table)), unsafe.Sizeof(table))
		}},
	})
}
