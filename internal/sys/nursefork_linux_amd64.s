#include "textflag.h"

// func cloneOn(nr, a1, a2, a3, top uintptr, s *nursing, lives uintptr) (pid, errno uintptr)
TEXT ·cloneOn(SB), NOSPLIT, $0-72
	MOVQ nr+0(FP), AX
	MOVQ a1+8(FP), DI
	MOVQ a2+16(FP), SI
	MOVQ a3+24(FP), DX
	MOVQ top+32(FP), R12
	MOVQ s+40(FP), R13
	MOVQ lives+48(FP), R15
	XORL R10, R10
	XORL R8, R8
	XORL R9, R9
	SYSCALL
	TESTQ AX, AX
	JZ   child
	XORL CX, CX
	CMPQ AX, $-4095
	JCS  done
	NEGQ AX
	MOVQ AX, CX
	XORL AX, AX

done:
	MOVQ AX, pid+56(FP)
	MOVQ CX, errno+64(FP)
	RET

child:
	// What belongs to the thread is looked at, and not used, when a call of
	// assembly ends: it is to be memory that is there.
	MOVL $158, AX    // arch_prctl
	MOVL $0x1002, DI // ARCH_SET_FS
	MOVQ R12, SI
	SYSCALL
	// In the convention of the compiler's own calls. The one of assembly goes by code
	// that tells the race detector.
	MOVQ  R13, AX
	XORL  R14, R14
	XORPS X15, X15
	CALL  R15
	INT   $3
