//go:build unix

package demo

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func extraFiles(f *os.File) []*os.File { return []*os.File{f} } // descriptor 3

func readyFile() *os.File { return os.NewFile(3, "ready") }

func detach(cmd *exec.Cmd, setsid bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	return nil
}

func deaf() []os.Signal { return []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} }

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "ILL": syscall.SIGILL,
	"TRAP": syscall.SIGTRAP, "ABRT": syscall.SIGABRT, "BUS": syscall.SIGBUS, "FPE": syscall.SIGFPE,
	"KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1, "SEGV": syscall.SIGSEGV, "USR2": syscall.SIGUSR2,
	"PIPE": syscall.SIGPIPE, "ALRM": syscall.SIGALRM, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP,
	"XCPU": syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ, "SYS": syscall.SIGSYS,
}

// signalOf finds a signal by its number, or by its name with or without "SIG".
func signalOf(s string) (syscall.Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return syscall.Signal(n), n > 0 && n < 65
	}
	sig, ok := signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]
	return sig, ok
}

// die sends sig to this process, with its default action.
func die(sig syscall.Signal) error {
	if err := resetAction(sig); err != nil {
		return err
	}
	return syscall.Kill(syscall.Getpid(), sig)
}

func stops(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGCONT
}
