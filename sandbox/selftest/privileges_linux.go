//go:build !hostsup_posix

package selftest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// privileges are attempts to have, keep, get or hand on rights.
func privileges() []*attempt {
	return slices.Concat(setUserFiles(), identities(), namespaces(), mounting(), settings())
}

// rootAnyway names what is missing where a command of root's is root's.
var rootAnyway = []string{"mapped owners: the file system"}

// ownFile is a file that an attempt makes.
const ownFile = writeDir + "/own"

// chownCapability is the attribute that gives a program cap_chown, permitted and effective, in its revision 2.
var chownCapability = []byte{1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// setUserFiles are attempts to leave a file behind that gives its owner's rights to who runs it, by each call that sets
// a mode, or to use one. bubblewrap leaves such files to those outside who run them.
func setUserFiles() []*attempt {
	const mode = 0o4755
	// own makes a file and does something to it.
	own := func(do func(path string) error) func(*inside) error {
		return on(func(path string) error {
			check(os.WriteFile(path, []byte("x"), 0o755))
			return do(path)
		}, ownFile)
	}
	tool := func(name string) func(*stage) {
		return func(s *stage) {
			_, err := os.Stat(filepath.Join(s.suite.tools, name))
			needs(err == nil, "a program with rights, which only root can set up")
		}
	}
	return slices.Concat(family(Privileges, attempt{judge: found(setUserFile)}, []attempt{
		{name: "set-uid-chmod", about: "make a file of one's own set-uid",
			do: own(func(path string) error { return unix.Chmod(path, mode) })},
		{name: "set-gid-chmod", about: "make a file of one's own set-gid",
			do: own(func(path string) error { return unix.Chmod(path, 0o2755) })},
		{name: "set-uid-fchmod", about: "make one set-uid by its descriptor", do: own(func(path string) error {
			return unix.Fchmod(must(unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)), mode)
		})},
		{name: "set-uid-fchmodat", about: "make one set-uid by fchmodat",
			do: own(func(path string) error { return unix.Fchmodat(unix.AT_FDCWD, path, mode, 0) })},
		{name: "set-uid-fchmodat2", about: "make one set-uid by fchmodat2", do: own(func(path string) error {
			at := unix.AT_FDCWD
			return call(unix.SYS_FCHMODAT2, uintptr(at), uintptr(unsafe.Pointer(ptr(path))), mode)
		})},
		{name: "set-uid-open", about: "create a file that is set-uid from the start", do: on(func(path string) error {
			return closed(unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, mode))
		}, ownFile)},
		{name: "set-uid-openat2", about: "create one by openat2, whose mode lies in memory", do: on(func(path string) error {
			how := &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: mode}
			return closed(unix.Openat2(unix.AT_FDCWD, path, how))
		}, ownFile)},
		{name: "set-uid-mknod", about: "create one by mknod",
			do: on(func(path string) error { return unix.Mknod(path, unix.S_IFREG|mode, 0) }, ownFile)},
		{name: "file-capabilities", about: "leave a file behind that has capabilities",
			do: own(func(path string) error { return unix.Setxattr(path, "security.capability", chownCapability, 0) }),
			judge: found(func(s *stage) string {
				if n, err := unix.Getxattr(s.path(ownFile), "security.capability", nil); err != nil || n == 0 {
					return ""
				}
				return "the file has capabilities"
			})},
		{name: "give-away", about: "give a file of one's own to another user",
			do: own(func(path string) error { return os.Chown(path, 12345, 12345) }),
			judge: found(func(s *stage) string {
				var st syscall.Stat_t
				if err := syscall.Lstat(s.path(ownFile), &st); err != nil || st.Uid != 12345 {
					return ""
				}
				return "it is another user's"
			})},
	}), family(Privileges, attempt{}, []attempt{
		{name: "run-set-uid", about: "become root by a set-uid program that may be run",
			named: rootAnyway, prepare: tool("setuid-id"),
			do: func(in *inside) error {
				out := must(exec.Command(in.get("tools")+"/setuid-id", "-u").CombinedOutput())
				uid, err := outsideUID(strings.TrimSpace(string(out)))
				in.say("uid %s, outside %d", strings.TrimSpace(string(out)), uid)
				return errors.Join(err, unless(uid == 0, "it did not help"))
			}},
		{name: "run-file-capabilities", about: "get capabilities by a program that may be run", prepare: tool("caps-grep"),
			do: func(in *inside) error {
				out, err := exec.Command(in.get("tools")+"/caps-grep", "CapEff", "/proc/self/status").CombinedOutput()
				in.say("%s", strings.Join(strings.Fields(string(out)), " "))
				none := strings.HasSuffix(strings.TrimSpace(string(out)), "\t0000000000000000")
				return errors.Join(err, unless(!none, "it did not help"))
			}},
	}))
}

// setUserFile describes a file in the folder that may be written which gives its owner's rights.
func setUserFile(s *stage) (found string) {
	_ = filepath.WalkDir(s.path(writeDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at is not there
		}
		if info, err := d.Info(); err == nil && !d.IsDir() && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			found = fmt.Sprintf("%s is %s", path, info.Mode())
		}
		return nil
	})
	return found
}

// outsideUID is the number that a user of this process's user namespace has outside of it; -1 for one that has none there.
func outsideUID(inside string) (int, error) {
	uid, err := strconv.Atoi(inside)
	if err != nil {
		return -1, err
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return -1, err
	}
	for line := range strings.Lines(string(b)) {
		var in, out, count int
		if _, err := fmt.Sscan(line, &in, &out, &count); err != nil {
			return -1, err
		}
		if uid >= in && uid < in+count {
			return out + uid - in, nil
		}
	}
	return -1, nil
}

// identities are what a process is, looked up from outside while it waits, and what it tries to become.
func identities() []*attempt {
	const isNot = "it is not"
	// is makes one of what /proc/PID/status must not say; bad describes that, "" for nothing.
	is := func(name, about string, named []string, bad func(pid int) string) attempt {
		return attempt{
			name: name, about: about, named: named, judge: sawOnly(isNot),
			do:    func(in *inside) error { in.pause(); return errors.New("as outside sees it") },
			watch: func(s *stage, r *trial) { s.seen = cmp.Or(bad(r.p.pid), isNot) },
		}
	}
	field := func(field, want, bad string) func(pid int) string {
		return func(pid int) string {
			if status(pid, field) != want {
				return bad
			}
			return ""
		}
	}
	return family(Privileges, attempt{}, []attempt{
		is("be-root", "run as the machine's root", rootAnyway, func(pid int) string {
			if ids := status(pid, "Uid"); strings.Contains(" "+ids+" ", " 0 ") {
				return "its user ids are " + ids
			}
			return ""
		}),
		is("groups", "keep the root group or other groups of the supervisor's", rootAnyway, func(pid int) string {
			ids := " " + status(pid, "Gid") + " " + status(pid, "Groups") + " "
			not, _ := os.Getgroups()
			not = append(slices.DeleteFunc(not, func(g int) bool { return g == os.Getgid() }), 0)
			for _, g := range not {
				if strings.Contains(ids, fmt.Sprintf(" %d ", g)) {
					return "its group ids are" + ids
				}
			}
			return ""
		}),
		is("capabilities", "have capabilities", nil, func(pid int) string {
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				if v := status(pid, set); strings.Trim(v, "0") != "" {
					return set + " is " + v
				}
			}
			return ""
		}),
		is("new-privileges", "get rights by starting a program", nil, field("NoNewPrivs", "1", "no_new_privs is not set")),
		is("no-filter", "make system calls that nothing filters", nil, field("Seccomp", "2", "there is no filter")),
		{name: "setuid-root", about: "become the machine's root", do: func(in *inside) error {
			check(syscall.Setresuid(0, 0, 0))
			return in.put("/proc/self/oom_score_adj", "0", 0)
		}},
		{name: "setuid-other", about: "become another user",
			do: func(*inside) error { return syscall.Setresuid(12345, 12345, 12345) }},
		{name: "setgid-other", about: "become another group",
			do: func(*inside) error { return syscall.Setresgid(12345, 12345, 12345) }},
		{name: "setgroups", about: "join the root group", do: func(*inside) error { return syscall.Setgroups([]int{0}) }},
		{name: "real-time", about: "take precedence over every other process on the machine", do: func(*inside) error {
			return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1, Priority: 1}, 0) // SCHED_FIFO
		}},
		{name: "nice", about: "raise one's own priority",
			do: func(*inside) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
		{name: "chroot", about: "change the root folder", do: on(unix.Chroot, writeDir)},
	})
}

// namespaces are attempts to make namespaces, in which one has rights that many kernel bugs need, or to join another
// process's. clone3 has its flags in memory, where no filter sees them: nsjail let one out by it.
func namespaces() []*attempt {
	starts := func(attr syscall.SysProcAttr) error {
		cmd := exec.Command(nothing())
		cmd.SysProcAttr = &attr
		return cmd.Run()
	}
	var rows []attempt
	for _, ns := range []struct {
		name string
		flag uintptr
	}{
		{"user", unix.CLONE_NEWUSER}, {"mount", unix.CLONE_NEWNS}, {"pid", unix.CLONE_NEWPID}, {"net", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC}, {"uts", unix.CLONE_NEWUTS}, {"cgroup", unix.CLONE_NEWCGROUP}, {"time", unix.CLONE_NEWTIME},
	} {
		rows = append(rows, attempt{name: "unshare-" + ns.name, about: "make a " + ns.name + " namespace by unshare",
			do: func(*inside) error {
				err := starts(syscall.SysProcAttr{Unshareflags: ns.flag})
				if err != nil && ns.flag != unix.CLONE_NEWUSER {
					err = starts(syscall.SysProcAttr{Unshareflags: ns.flag | unix.CLONE_NEWUSER})
				}
				return err
			}})
	}
	// joins joins a namespace of the victim's that open opens.
	joins := func(name, about string, flag int, open func(in *inside) int) attempt {
		return attempt{name: name, about: about, prepare: needVictim, do: func(in *inside) error {
			runtime.LockOSThread()
			return unix.Setns(open(in), flag)
		}}
	}
	file := func(name string) func(*inside) int {
		return func(in *inside) int {
			return must(unix.Open(in.path("/proc/$victim/ns/"+name), unix.O_RDONLY|unix.O_CLOEXEC, 0))
		}
	}
	return family(Privileges, attempt{}, append(rows, []attempt{
		{name: "clone-user", about: "make a user namespace by clone",
			do: func(*inside) error { return starts(syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) }},
		{name: "clone3-user", about: "make a user namespace by clone3, whose flags lie in memory",
			do: func(*inside) error { return clone3(unix.CLONE_NEWUSER) }},
		{name: "clone3-into-cgroup", about: "start a process in a cgroup of one's choice by clone3", do: func(*inside) error {
			// Descriptor 0 is no cgroup: EBADF says that the call was looked at.
			return reached(clone3(unix.CLONE_INTO_CGROUP), unix.EBADF, unix.EINVAL)
		}},
		joins("join-net", "join the network of a process outside", unix.CLONE_NEWNET, file("net")),
		joins("join-ipc", "join the shared objects of a process outside", unix.CLONE_NEWIPC, file("ipc")),
		joins("join-cgroup", "join the cgroup namespace of a process outside", unix.CLONE_NEWCGROUP, file("cgroup")),
		joins("join-pidfd", "join the network of a process outside through a pidfd", unix.CLONE_NEWNET,
			func(in *inside) int { return pidfd(in.num("victim")) }),
	}...))
}

// nothing is the path of a program that does nothing.
func nothing() string {
	path, err := exec.LookPath("/usr/bin/true")
	if err != nil {
		return "/bin/true"
	}
	return path
}

// clone3 makes a process that ends at once.
//
//go:norace
func clone3(flags uint64) error {
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
	return nil
}
