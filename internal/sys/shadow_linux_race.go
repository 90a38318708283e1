//go:build race && amd64

package sys

import "golang.org/x/sys/unix"

// forkShadow says whether new processes get what the race detector knows of this
// one's memory, which is several times as large as the heap, and of which they have
// no use. Its place is that of "Go on linux/x86_64" in compiler-rt's
// tsan_platform.h.
func forkShadow(advice uintptr) {
	const start, end = 0x2000_0000_0000, 0x3400_0000_0000
	_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, start, end-start, advice) // it says that parts of it are not mapped
}
