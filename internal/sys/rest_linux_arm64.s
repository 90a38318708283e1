//go:build !cgo

#include "textflag.h"

// exitThread is where a signal takes a thread: it ends, wherever it was.
TEXT exitThread<>(SB), NOSPLIT|NOFRAME, $0-0
again:
	MOVD $93, R8 // exit
	MOVD ZR, R0
	SVC
	B    again

// func exitThreadPC() uintptr
TEXT ·exitThreadPC(SB), NOSPLIT|NOFRAME, $0-8
	MOVD $exitThread<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
