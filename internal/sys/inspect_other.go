//go:build !linux

package sys

import "syscall"

// UserSignal is the one by which node is told to open its inspector; nobody is
// sent it here.
const UserSignal = syscall.Signal(0)

// SignalIf sends sig to process pid if is says that it is the one that is meant.
func SignalIf(pid int, sig syscall.Signal, is func() bool) error { return ErrUnsupported }

// SignalCaught says whether process pid has a handler of its own for a signal.
func SignalCaught(pid int, sig syscall.Signal) (bool, error) { return false, ErrUnsupported }

// ProgramOf is the path of the program that process pid runs.
func ProgramOf(pid int) (string, error) { return "", ErrUnsupported }

// CommandLine are the arguments that process pid was started with.
func CommandLine(pid int) ([]string, error) { return nil, ErrUnsupported }
