#include "textflag.h"

// func vfork(nr, a1, a2, a3 uintptr) (pid, errno uintptr)
//
// The child runs on the same stack as the parent, which the kernel holds until
// the child has gone on. What the child pushes lies over our return address,
// so that is kept in a register, of which each of the two has its own.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ nr+0(FP), AX
	MOVQ a1+8(FP), DI
	MOVQ a2+16(FP), SI
	MOVQ a3+24(FP), DX
	XORL R10, R10
	XORL R8, R8
	XORL R9, R9
	POPQ R12
	SYSCALL
	PUSHQ R12
	XORL CX, CX
	CMPQ AX, $-4095
	JCS  done
	NEGQ AX
	MOVQ AX, CX
	XORL AX, AX

done:
	MOVQ AX, pid+32(FP)
	MOVQ CX, errno+40(FP)
	RET
