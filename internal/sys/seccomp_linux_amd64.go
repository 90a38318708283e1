package sys

import "golang.org/x/sys/unix"

const (
	filterArch    = unix.AUDIT_ARCH_X86_64
	filterForeign = 0x40000000 // calls of the x32 interface begin here
)
