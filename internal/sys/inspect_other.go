//go:build !linux

package sys

import "syscall"

// UserSignal is the signal that makes node open its inspector; it is never sent on this
// system.
const UserSignal = syscall.Signal(0)

// SignalIf is not supported on this system.
func SignalIf(pid int, sig syscall.Signal, is func() bool) error { return ErrUnsupported }

// SignalCaught is not supported on this system.
func SignalCaught(pid int, sig syscall.Signal) (bool, error) { return false, ErrUnsupported }

// ProgramOf is not supported on this system.
func ProgramOf(pid int) (string, error) { return "", ErrUnsupported }

// CommandLine is not supported on this system.
func CommandLine(pid int) ([]string, error) { return nil, ErrUnsupported }
