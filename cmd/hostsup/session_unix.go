//go:build unix

package main

import "syscall"

// ownSession makes a process the leader of a session of its own.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
