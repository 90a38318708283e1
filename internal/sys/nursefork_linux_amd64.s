//go:build !cgo

#include "textflag.h"

// func cloneOn(nr, a1, a2, a3, top uintptr, s *nursing) (pid, errno uintptr)
TEXT ·cloneOn(SB), NOSPLIT, $0-64
	MOVQ nr+0(FP), AX
	MOVQ a1+8(FP), DI
	MOVQ a2+16(FP), SI
	MOVQ a3+24(FP), DX
	MOVQ top+32(FP), R12
	MOVQ s+40(FP), R13
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
	MOVQ AX, pid+48(FP)
	MOVQ CX, errno+56(FP)
	RET

child:
	// What belongs to the thread is looked at, and not used, when a call of
	// assembly ends: it is to be memory that is there.
	MOVL $158, AX    // arch_prctl
	MOVL $0x1002, DI // ARCH_SET_FS
	MOVQ R12, SI
	SYSCALL
	SUBQ $64, SP
	MOVQ R13, 0(SP)
	CALL ·nurseLives(SB)
	INT  $3
