//go:build !purego

#include "textflag.h"

// Of each 12 bytes of a lane, the bytes of four groups of three, each as b1 b0
// b2 b1.
DATA spread<>+0(SB)/8, $0x0405030401020001
DATA spread<>+8(SB)/8, $0x0a0b090a07080607
GLOBL spread<>(SB), RODATA|NOPTR, $16

// What is to be added to a sextet, by its range: see reduce.
DATA shift<>+0(SB)/8, $0xfcfcfcfcfcfc4741
DATA shift<>+8(SB)/8, $0x0000f0edfcfcfcfc
GLOBL shift<>(SB), RODATA|NOPTR, $16

DATA high<>+0(SB)/4, $0x0fc0fc00
GLOBL high<>(SB), RODATA|NOPTR, $4
DATA highMul<>+0(SB)/4, $0x04000040
GLOBL highMul<>(SB), RODATA|NOPTR, $4
DATA low<>+0(SB)/4, $0x003f03f0
GLOBL low<>(SB), RODATA|NOPTR, $4
DATA lowMul<>+0(SB)/4, $0x01000010
GLOBL lowMul<>(SB), RODATA|NOPTR, $4
DATA top<>+0(SB)/4, $0x33333333 // 51
GLOBL top<>(SB), RODATA|NOPTR, $4
DATA upper<>+0(SB)/4, $0x19191919 // 25
GLOBL upper<>(SB), RODATA|NOPTR, $4

// func encodeBlocks(dst, src *byte, blocks int)
TEXT ·encodeBlocks(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX

	VBROADCASTI128 spread<>(SB), Y8
	VBROADCASTI128 shift<>(SB), Y9
	VPBROADCASTD   high<>(SB), Y10
	VPBROADCASTD   highMul<>(SB), Y11
	VPBROADCASTD   low<>(SB), Y12
	VPBROADCASTD   lowMul<>(SB), Y13
	VPBROADCASTD   top<>(SB), Y14
	VPBROADCASTD   upper<>(SB), Y15

	TESTQ CX, CX
	JZ    done

loop:
	VMOVDQU     (SI), X0
	VINSERTI128 $1, 12(SI), Y0, Y0
	VPSHUFB     Y8, Y0, Y0

	// Into sextets, one a byte.
	VPAND    Y10, Y0, Y1
	VPMULHUW Y11, Y1, Y1
	VPAND    Y12, Y0, Y2
	VPMULLW  Y13, Y2, Y2
	VPOR     Y1, Y2, Y0

	// Into letters: 0 is for A-Z, 1 for a-z, 2 to 11 for digits, 12 for +, 13
	// for /.
	VPSUBUSB Y14, Y0, Y1
	VPCMPGTB Y15, Y0, Y2
	VPSUBB   Y2, Y1, Y1
	VPSHUFB  Y1, Y9, Y1
	VPADDB   Y1, Y0, Y0

	VMOVDQU Y0, (DI)
	ADDQ    $24, SI
	ADDQ    $32, DI
	DECQ    CX
	JNZ     loop

done:
	VZEROUPPER
	RET
