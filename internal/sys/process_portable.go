//go:build unix && !linux

package sys

import (
	"runtime"
	"syscall"
)

// CapSysAdmin has no meaning here.
const CapSysAdmin = 0

// maxRSSUnit is what the kernel counts the peak of memory in.
var maxRSSUnit = func() int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return 1
	}
	return 1024
}()

// Start starts the process and returns once its execve has succeeded. There
// is no pidfd here: it is -1. The error is the plain syscall.Errno of whatever
// step failed.
func (p *Process) Start() (pid, pidfd int, err error) {
	if p.DieWithUs || p.Cgroup > 0 || p.PidNS || p.MountNS || p.UserNS {
		return 0, -1, ErrUnsupported
	}
	attr := p.attr()
	attr.Sys = &syscall.SysProcAttr{Setsid: p.Session, Setctty: p.Terminal}
	pid, err = syscall.ForkExec(p.Path, p.Args, attr)
	return pid, -1, err
}
