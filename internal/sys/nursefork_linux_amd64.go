package sys

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneOn makes a system call that returns twice: here, and in a child that
// continues at the address lives, of a function that takes s, on a stack of its own
// that ends at top.
//
//go:noescape
func cloneOn(nr, a1, a2, a3, top uintptr, s *nursing, lives uintptr) (pid, errno uintptr)

func (s *nursing) fork(sp *spawning) (uintptr, syscall.Errno) {
	top := uintptr(unsafe.Pointer(&s.stack)) + nurseStack
	live := nurseLives
	lives := **(**uintptr)(unsafe.Pointer(&live)) // a function is a pointer to the address of its code
	var pid, errno uintptr
	if sp.args.cgroup == 0 { // an older call, which more filters permit
		pid, errno = cloneOn(unix.SYS_CLONE, uintptr(sp.args.flags|sp.args.exitSignal), top, uintptr(unsafe.Pointer(&sp.pidfd)), top, s, lives)
	} else {
		sp.args.stack, sp.args.stackSize = uint64(top-nurseStack), nurseStack
		pid, errno = cloneOn(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&sp.args)), unsafe.Sizeof(sp.args), 0, top, s, lives)
	}
	return pid, syscall.Errno(errno)
}

// copying must be held while a process is made a copy of this one, and while a
// descriptor is open that another copy must not have.
var copying sync.Mutex

// withoutHeap keeps the Go heap from being copied to new processes, which takes
// longer the larger the heap is, until the returned function is called. What the
// runtime maps meanwhile is copied. The caller must hold syscall.ForkLock.
func withoutHeap() func() {
	copying.Lock()
	const arena = 64 << 20 // the runtime maps the heap in pieces of this size and alignment
	var here byte          // on a stack, which is in the heap
	first := uintptr(unsafe.Pointer(&here)) &^ (arena - 1)
	last := first
	advise := func(at uintptr, advice uintptr) bool {
		_, _, errno := unix.RawSyscall(unix.SYS_MADVISE, at, arena, advice)
		return errno == 0
	}
	if !advise(first, unix.MADV_DONTFORK) {
		_ = advise(first, unix.MADV_DOFORK) // a part of it may be mapped
		return copying.Unlock
	}
	for last += arena; advise(last, unix.MADV_DONTFORK); last += arena {
	}
	for first -= arena; advise(first, unix.MADV_DONTFORK); first -= arena {
	}
	forkShadow(unix.MADV_DONTFORK)
	return func() {
		forkShadow(unix.MADV_DOFORK)
		for at := first; at <= last; at += arena { // the first and the last may be mapped in part
			_ = advise(at, unix.MADV_DOFORK)
		}
		copying.Unlock()
	}
}

// nurseLives is where the process begins.
//
//go:norace
//go:nosplit
//go:nocheckptr
func nurseLives(s *nursing) { s.live() }
