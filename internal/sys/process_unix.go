//go:build unix

package sys

import "syscall"

func (p *Process) attr() *syscall.ProcAttr {
	files := make([]uintptr, len(p.Files))
	for i, fd := range p.Files {
		files[i] = uintptr(fd)
	}
	return &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: files}
}

func exitOf(ws syscall.WaitStatus, ru *syscall.Rusage) Exit {
	e := Exit{Code: -1, Usage: usageOf(ru)}
	switch {
	case ws.Exited():
		e.Code = ws.ExitStatus()
	case ws.Signaled():
		e.Signal, e.Core = int(ws.Signal()), ws.CoreDump()
	}
	return e
}

func usageOf(ru *syscall.Rusage) Usage {
	return Usage{User: ru.Utime.Nano(), System: ru.Stime.Nano(), MaxRSS: int64(ru.Maxrss) * maxRSSUnit}
}

// WaitAny waits for any child of this process. Only helper processes, which own
// every child they have, may call it. Without a child it returns syscall.ECHILD.
func WaitAny() (pid int, e Exit, err error) { return wait4(-1, 0) }

// WaitPid checks, without waiting, whether the child pid has ended, and reaps it
// then. Only the owner of pid may call it: after ended is true, the number may
// belong to another process.
func WaitPid(pid int) (e Exit, ended bool, err error) {
	got, e, err := wait4(pid, syscall.WNOHANG)
	return e, got == pid, err
}

// Reap waits until the child pid has ended. It is for a child that was just killed.
func Reap(pid int) { _, _, _ = wait4(pid, 0) }

func wait4(pid, flags int) (int, Exit, error) {
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		got, err := syscall.Wait4(pid, &ws, flags, &ru)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || got == 0 {
			return got, Exit{}, err
		}
		return got, exitOf(ws, &ru), nil
	}
}

// Kill sends a signal to a process, or to the process group -pid.
func Kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }
