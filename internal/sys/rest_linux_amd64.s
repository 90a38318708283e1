//go:build !cgo

#include "textflag.h"

// exitThread is where a signal takes a thread: it ends, wherever it was.
TEXT exitThread<>(SB), NOSPLIT|NOFRAME, $0-0
again:
	MOVL $60, AX // exit
	XORL DI, DI
	SYSCALL
	JMP  again

// func exitThreadPC() uintptr
TEXT ·exitThreadPC(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ exitThread<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
