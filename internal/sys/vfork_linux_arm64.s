#include "textflag.h"

// func vfork(nr, a1, a2, a3 uintptr) (pid, errno uintptr)
//
// The child runs on the same stack as the parent, which the kernel holds until
// the child has gone on. Our return address is in the link register, of which
// each of the two has its own.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-48
	MOVD nr+0(FP), R8
	MOVD a1+8(FP), R0
	MOVD a2+16(FP), R1
	MOVD a3+24(FP), R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD ZR, R5
	SVC
	MOVD ZR, R6
	CMN  $4095, R0
	BCC  done
	NEG  R0, R6
	MOVD ZR, R0

done:
	MOVD R0, pid+32(FP)
	MOVD R6, errno+40(FP)
	RET
