//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var namespaceFlags = []struct {
	name string
	flag uintptr
}{
	{"user", unix.CLONE_NEWUSER},
	{"mount", unix.CLONE_NEWNS},
	{"pid", unix.CLONE_NEWPID},
	{"net", unix.CLONE_NEWNET},
	{"ipc", unix.CLONE_NEWIPC},
	{"uts", unix.CLONE_NEWUTS},
	{"cgroup", unix.CLONE_NEWCGROUP},
	{"time", unix.CLONE_NEWTIME},
}

// namespaces are attempts to make namespaces, in which one has rights, or to
// join another process's.
func namespaces() []*attempt {
	var list []*attempt
	try := func(name, about string, do func(in *inside) error) *attempt {
		list = append(list, &attempt{class: Privileges, name: name, about: about, do: do})
		return list[len(list)-1]
	}
	for _, ns := range namespaceFlags {
		try("unshare-"+ns.name, "make a "+ns.name+" namespace by unshare", func(*inside) error {
			err := inNamespace(&syscall.SysProcAttr{Unshareflags: ns.flag})
			if err != nil && ns.flag != unix.CLONE_NEWUSER {
				err = inNamespace(&syscall.SysProcAttr{Unshareflags: ns.flag | unix.CLONE_NEWUSER})
			}
			return err
		})
	}
	try("clone-user", "make a user namespace by clone",
		func(*inside) error { return inNamespace(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) })
	try("clone3-user", "make a user namespace by clone3, whose flags lie in memory", func(*inside) error {
		errno := clone3(unix.CLONE_NEWUSER)
		return errnoOrNil(errno)
	})
	try("clone3-into-cgroup", "start a process in a cgroup of one's choice by clone3", func(*inside) error {
		// Descriptor 0 is no cgroup: EBADF says that the call was looked at.
		if errno := clone3(unix.CLONE_INTO_CGROUP); errno != unix.EBADF && errno != unix.EINVAL && errno != 0 {
			return errno
		}
		return nil
	})
	join := func(name string, about string, flag int) {
		try("join-"+name, about, func(in *inside) error {
			runtime.LockOSThread()
			fd := must(unix.Open("/proc/"+in.get("victim")+"/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0))
			return unix.Setns(fd, flag)
		}).prepare = needVictim
	}
	join("net", "join the network of a process outside", unix.CLONE_NEWNET)
	join("ipc", "join the shared objects of a process outside", unix.CLONE_NEWIPC)
	join("cgroup", "join the cgroup namespace of a process outside", unix.CLONE_NEWCGROUP)
	try("join-pidfd", "join the network of a process outside through a pidfd", func(in *inside) error {
		runtime.LockOSThread()
		fd, err := unix.PidfdOpen(in.num("victim"), 0)
		if err != nil {
			return fmt.Errorf("pidfd_open: %w", err)
		}
		return unix.Setns(fd, unix.CLONE_NEWNET)
	}).prepare = needVictim
	return list
}

// inNamespace starts a program that does nothing in new namespaces.
func inNamespace(attr *syscall.SysProcAttr) error {
	path, err := exec.LookPath("/usr/bin/true")
	if err != nil {
		path = "/bin/true"
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// clone3 makes a process that ends at once.
//
//go:norace
func clone3(flags uint64) syscall.Errno {
	args := struct {
		flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
	}{flags: flags, exitSignal: uint64(unix.SIGCHLD)}
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		// The child: one thread of a program that thinks it has more.
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, _ = syscall.Wait4(int(pid), nil, 0, nil)
	return 0
}
