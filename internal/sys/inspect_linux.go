package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// UserSignal is the signal that makes node open its inspector.
const UserSignal = syscall.SIGUSR1

// SignalIf sends sig to process pid if is, called once a pidfd holds the process,
// reports that it is the intended one; else the error is os.ErrProcessDone.
func SignalIf(pid int, sig syscall.Signal, is func() bool) error {
	fd, err := PidfdOpen(pid)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !is() {
		return os.ErrProcessDone
	}
	return PidfdSignal(fd, sig)
}

// SignalCaught reports whether process pid has its own handler for a signal.
func SignalCaught(pid int, sig syscall.Signal) (bool, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false, err
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("SigCgt:")); ok {
			mask, err := strconv.ParseUint(string(bytes.TrimSpace(v)), 16, 64)
			if err != nil || sig < 1 || sig > 64 {
				return false, fmt.Errorf("/proc/%d/status: signal %d of %q", pid, sig, v)
			}
			return mask&(1<<(sig-1)) != 0, nil
		}
	}
	return false, ErrUnsupported
}

// ProgramOf returns the path of the program that process pid runs, as pid sees it.
func ProgramOf(pid int) (string, error) {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return strings.TrimSuffix(path, " (deleted)"), err
}

// CommandLine returns the arguments that process pid was started with, unless it has
// changed them since.
func CommandLine(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}
