//go:build !unix

package handover

import "syscall"

// ownGroup does nothing on this system.
func ownGroup() *syscall.SysProcAttr { return nil }
