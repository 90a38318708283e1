package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"
)

// asInit does the duties of an init if this is the first process of a container or of
// another pid namespace: it starts the program once more, hands on signals, and waits
// for whatever ends, because what hosts leave behind comes to it and would stay a zombie.
// It returns when the program has ended. run reports whether the caller has to do the
// work itself, since another process is the init.
//
// Waiting beside the work is no way: a process that was just started could be taken
// for one that was left behind.
func asInit() (run bool, err error) {
	if os.Getpid() != 1 {
		return true, nil
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	// A group of its own, so that what a terminal sends comes once: not from the terminal and
	// from here.
	attr := &syscall.SysProcAttr{Setpgid: true, Foreground: term.IsTerminal(0)}
	p, err := os.StartProcess(self, os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attr})
	if err != nil {
		return false, fmt.Errorf("start the supervisor below its init: %w", err)
	}
	go func() { // ends with this process
		for sig := range signals {
			if n, ok := sig.(syscall.Signal); ok && !slices.Contains(ownSignals, n) {
				_ = syscall.Kill(p.Pid, n) // it may have ended
			}
		}
	}()
	giveBack()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false, os.NewSyscallError("wait4", err)
		case pid == p.Pid && ws.Signaled():
			return false, &printed{128 + int(ws.Signal())}
		case pid == p.Pid && ws.Exited():
			if ws.ExitStatus() == exitDone {
				return false, nil
			}
			return false, &printed{ws.ExitStatus()}
		}
	}
}

// ownSignals are for the init itself, or for its runtime.
var ownSignals = []syscall.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGTTIN, syscall.SIGTTOU}
