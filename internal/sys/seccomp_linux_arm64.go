package sys

import "golang.org/x/sys/unix"

const (
	filterArch    = unix.AUDIT_ARCH_AARCH64
	filterForeign = 0
)
