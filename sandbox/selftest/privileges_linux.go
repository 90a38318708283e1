//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// privileges are attempts to have, keep, get or hand on rights.
func privileges() []*attempt {
	list := append(setUserFiles(), identities()...)
	list = append(list, namespaces()...)
	list = append(list, mounts()...)
	return append(list, settings()...)
}

// setUserFiles are attempts to leave a file behind that gives its owner's
// rights to who runs it, or to use one.
func setUserFiles() []*attempt {
	var list []*attempt
	leaves := func(name, about string, do func(path string) error) {
		list = append(list, &attempt{
			class: Privileges, name: name, about: about,
			do: func(in *inside) error { return do(in.get("write") + "/own") },
			judge: func(s *stage, r *run1) finding {
				var found string
				_ = filepath.WalkDir(s.path(writeDir), func(path string, d fs.DirEntry, err error) error {
					if err != nil {
						return nil //nolint:nilerr // what cannot be looked at is not there
					}
					if info, err := d.Info(); err == nil && !d.IsDir() && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
						found = fmt.Sprintf("%s is %s", path, info.Mode())
					}
					return nil
				})
				if found != "" {
					return escaped("%s", found)
				}
				return held("%s", r.how())
			},
		})
	}
	existing := func(do func(path string) error) func(string) error {
		return func(path string) error {
			if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
				return err
			}
			return do(path)
		}
	}
	const mode = 0o4755
	leaves("set-uid-chmod", "make a file of one's own set-uid", existing(func(path string) error { return unix.Chmod(path, mode) }))
	leaves("set-gid-chmod", "make a file of one's own set-gid", existing(func(path string) error { return unix.Chmod(path, 0o2755) }))
	leaves("set-uid-fchmod", "make one set-uid by its descriptor", existing(func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fchmod(int(f.Fd()), mode)
	}))
	leaves("set-uid-fchmodat", "make one set-uid by fchmodat", existing(func(path string) error {
		return unix.Fchmodat(unix.AT_FDCWD, path, mode, 0)
	}))
	leaves("set-uid-fchmodat2", "make one set-uid by fchmodat2", existing(func(path string) error {
		p, _ := unix.BytePtrFromString(path)
		at := unix.AT_FDCWD
		_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(at), uintptr(unsafe.Pointer(p)), mode, 0, 0, 0)
		return errnoOrNil(errno)
	}))
	leaves("set-uid-open", "create a file that is set-uid from the start", func(path string) error {
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, mode)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	leaves("set-uid-openat2", "create one by openat2, whose mode lies in memory", func(path string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: mode})
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	leaves("set-uid-mknod", "create one by mknod", func(path string) error { return unix.Mknod(path, unix.S_IFREG|mode, 0) })
	list = append(list, &attempt{
		class: Privileges, name: "file-capabilities", about: "leave a file behind that has capabilities",
		do: withOwnFile(func(path string) error {
			return unix.Setxattr(path, "security.capability", []byte{1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		}),
		judge: func(s *stage, r *run1) finding {
			if n, err := unix.Getxattr(s.path("write/own"), "security.capability", nil); err == nil && n > 0 {
				return escaped("the file has capabilities")
			}
			return held("%s", r.how())
		},
	}, &attempt{
		class: Privileges, name: "give-away", about: "give a file of one's own to another user",
		do: withOwnFile(func(path string) error { return os.Chown(path, 12345, 12345) }),
		judge: func(s *stage, r *run1) finding {
			var st syscall.Stat_t
			if err := syscall.Lstat(s.path("write/own"), &st); err == nil && st.Uid == 12345 {
				return escaped("it is another user's")
			}
			return held("%s", r.how())
		},
	})
	tool := func(name string) func(*stage) error {
		return func(s *stage) error {
			if _, err := os.Stat(filepath.Join(s.suite.tools, name)); err != nil {
				return missing("a program with rights, which only root can set up")
			}
			return nil
		}
	}
	return append(list, &attempt{
		class: Privileges, name: "run-set-uid", about: "become root by a set-uid program that may be run", named: rootAnyway, prepare: tool("setuid-id"),
		do: func(in *inside) error {
			out := must(exec.Command(in.get("tools")+"/setuid-id", "-u").CombinedOutput())
			uid, err := outsideUID(strings.TrimSpace(string(out)))
			in.say("uid %s, outside %d", strings.TrimSpace(string(out)), uid)
			if err == nil && uid != 0 {
				return errors.New("it did not help")
			}
			return err
		},
	}, &attempt{
		class: Privileges, name: "run-file-capabilities", about: "get capabilities by a program that may be run", prepare: tool("caps-grep"),
		do: func(in *inside) error {
			out, err := exec.Command(in.get("tools")+"/caps-grep", "CapEff", "/proc/self/status").CombinedOutput()
			in.say("%s", strings.Join(strings.Fields(string(out)), " "))
			if err == nil && strings.HasSuffix(strings.TrimSpace(string(out)), "\t0000000000000000") {
				return errors.New("it did not help")
			}
			return err
		},
	})
}

// rootAnyway names what is missing where a command of root's is root's.
var rootAnyway = []string{"mapped owners: the file system"}

// outsideUID is the number that a user of this process's user namespace has
// outside of it; -1 for one that has none there.
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

// withOwnFile makes a file of one's own and does something to it.
func withOwnFile(do func(path string) error) func(*inside) error {
	return func(in *inside) error {
		path := in.get("write") + "/own"
		check(os.WriteFile(path, []byte("x"), 0o755))
		return do(path)
	}
}

// identities are what a process is, looked up from outside while it waits, and
// what it tries to become.
func identities() []*attempt {
	var list []*attempt
	is := func(name, about string, bad func(pid int) string) {
		list = append(list, &attempt{
			class: Privileges, name: name, about: about,
			do:    func(in *inside) error { in.pause(); return errors.New("as outside sees it") },
			watch: func(s *stage, r *run1) { s.vars["bad"] = bad(r.p.pid) },
			judge: func(s *stage, r *run1) finding {
				switch bad := s.vars["bad"]; bad {
				case nil:
					return unclear("nobody has looked: %s", r.how())
				case "":
					return held("it is not")
				default:
					return escaped("%s", bad)
				}
			},
		})
	}
	is("be-root", "run as the machine's root", func(pid int) string {
		if ids := status(pid, "Uid"); strings.Contains(" "+ids+" ", " 0 ") {
			return "its user ids are " + ids
		}
		return ""
	})
	is("groups", "keep the root group or other groups of the supervisor's", func(pid int) string {
		ids := " " + status(pid, "Gid") + " " + status(pid, "Groups") + " "
		if strings.Contains(ids, " 0 ") {
			return "its group ids are" + ids
		}
		own, _ := os.Getgroups()
		for _, g := range own {
			if g != os.Getgid() && strings.Contains(ids, fmt.Sprintf(" %d ", g)) {
				return "its group ids are" + ids
			}
		}
		return ""
	})
	for _, at := range list { // the two above
		at.named = rootAnyway
	}
	is("capabilities", "have capabilities", func(pid int) string {
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
			if v := status(pid, set); strings.Trim(v, "0") != "" {
				return set + " is " + v
			}
		}
		return ""
	})
	is("new-privileges", "get rights by starting a program", func(pid int) string {
		if status(pid, "NoNewPrivs") != "1" {
			return "no_new_privs is not set"
		}
		return ""
	})
	is("no-filter", "make system calls that nothing filters", func(pid int) string {
		if status(pid, "Seccomp") != "2" {
			return "there is no filter"
		}
		return ""
	})
	try := func(name, about string, do func(in *inside) error) {
		list = append(list, &attempt{class: Privileges, name: name, about: about, do: do})
	}
	try("setuid-root", "become the machine's root", func(in *inside) error {
		check(syscall.Setresuid(0, 0, 0))
		return put("/proc/self/oom_score_adj", "0", 0)
	})
	try("setuid-other", "become another user", func(*inside) error { return syscall.Setresuid(12345, 12345, 12345) })
	try("setgid-other", "become another group", func(*inside) error { return syscall.Setresgid(12345, 12345, 12345) })
	try("setgroups", "join the root group", func(*inside) error { return syscall.Setgroups([]int{0}) })
	try("real-time", "take precedence over every other process on the machine", func(*inside) error {
		return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1, Priority: 1}, 0) // SCHED_FIFO
	})
	try("nice", "raise one's own priority", func(*inside) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) })
	try("chroot", "change the root folder", func(in *inside) error { return unix.Chroot(in.get("write")) })
	return list
}
