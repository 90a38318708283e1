//go:build unix

package handover

import "syscall"

// ownGroup makes a process the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
