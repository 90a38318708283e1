package sys

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const maxRSSUnit = 1024

// Capabilities that Process.Ambient can name.
const CapSysAdmin = unix.CAP_SYS_ADMIN

// HaveChild reports whether this process has a child, zombies included.
func HaveChild() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err != unix.ECHILD
		}
	}
}

// Start starts the process and returns after its execve has succeeded. pidfd is
// close-on-exec and refers to exactly this process; the caller must close it. The
// error is the plain syscall.Errno of the failed step; a process that did not reach
// its program is reaped already.
func (p *Process) Start() (pid, pidfd int, err error) {
	pidfd = -1
	at := &syscall.SysProcAttr{Setsid: p.Session, Setctty: p.Terminal, PidFD: &pidfd}
	if p.DieWithUs {
		at.Pdeathsig = syscall.SIGKILL
	}
	if p.Cgroup > 0 {
		at.UseCgroupFD, at.CgroupFD = true, p.Cgroup
	}
	if p.PidNS {
		at.Cloneflags |= unix.CLONE_NEWPID
	}
	if p.MountNS {
		at.Cloneflags |= unix.CLONE_NEWNS
	}
	if p.UserNS {
		uid, gid := os.Getuid(), os.Getgid()
		at.Cloneflags |= unix.CLONE_NEWUSER
		at.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		at.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		at.AmbientCaps = p.Ambient
	}
	attr := p.attr()
	attr.Sys = at
	pid, err = syscall.ForkExec(p.Path, p.Args, attr)
	if err != nil {
		return 0, -1, err
	}
	if pidfd < 0 { // a kernel without CLONE_PIDFD; the child is not reaped yet, so its number is not reused
		if pidfd, err = PidfdOpen(pid); err != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _, _ = wait4(pid, 0)
			return 0, -1, err
		}
	}
	return pid, pidfd, nil
}
