//go:build !unix

package main

import "syscall"

// ownSession does nothing on this system.
func ownSession() *syscall.SysProcAttr { return nil }
