//go:build linux && !hostsup_posix

package selftest

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// int80 makes a system call the way 32-bit programs do.
func int80(nr uintptr) uintptr

// foreign are attempts by the other system call tables of this processor, where
// a filter's numbers mean other calls.
func foreign() []*attempt {
	return []*attempt{
		{
			class: Calls, name: "int80", about: "make a system call of 32-bit programs",
			do: func(*inside) error {
				const getpid = 20
				if int80(getpid) != uintptr(os.Getpid()) {
					return unix.ENOSYS
				}
				return nil
			},
		},
		{
			class: Calls, name: "x32", about: "make a system call of the x32 table",
			do: func(*inside) error {
				const x32 = 0x40000000
				_, _, errno := unix.RawSyscall(unix.SYS_GETPID|x32, 0, 0, 0)
				return errnoOrNil(errno)
			},
		},
		{
			class: Calls, name: "io-ports", about: "speak to the hardware's ports",
			do: func(*inside) error {
				_, _, errno := unix.Syscall(unix.SYS_IOPL, 3, 0, 0)
				if errno != 0 {
					_, _, errno = unix.Syscall(unix.SYS_IOPERM, 0x80, 1, 1)
				}
				return errnoOrNil(errno)
			},
		},
		{
			class: Calls, name: "segments", about: "change the processor's segment table",
			do: func(*inside) error {
				var table [64]byte
				_, _, errno := unix.Syscall(unix.SYS_MODIFY_LDT, 0, uintptr(unsafe.Pointer(&table)), unsafe.Sizeof(table))
				return errnoOrNil(errno)
			},
		},
	}
}
