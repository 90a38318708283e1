//go:build unix && !linux

package sys

import (
	"runtime"
	"syscall"
)

// CapSysAdmin has no meaning here.
const CapSysAdmin = 0

// maxRSSUnit is the unit of the kernel's peak of memory, in bytes.
var maxRSSUnit = func() int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return 1
	}
	return 1024
}()

// Start starts the process and returns after its execve has succeeded. This system
// has no pidfds: pidfd is -1. The error is the plain syscall.Errno of the failed
// step.
func (p *Process) Start() (pid, pidfd int, err error) {
	if p.DieWithUs || p.Cgroup > 0 || p.PidNS || p.MountNS || p.UserNS {
		return 0, -1, ErrUnsupported
	}
	attr := p.attr()
	attr.Sys = &syscall.SysProcAttr{Setsid: p.Session, Setctty: p.Terminal}
	pid, err = syscall.ForkExec(p.Path, p.Args, attr)
	return pid, -1, err
}
