//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/poll"
)

// mountPoint is where attempts mount something.
const mountPoint = writeDir + "/mount"

// mounting are attempts to change what is mounted, by the old and by the new calls, which a filter must know too.
// Without a sandbox they make a mount in the attempt's own folder and take it away again.
func mounting() []*attempt {
	return family(Privileges, attempt{judge: mountedOver}, []attempt{
		{name: "mount-tmpfs", about: "mount a file system in memory", do: mounts("tmpfs")},
		{name: "mount-proc", about: "mount another /proc", do: mounts("proc")},
		{name: "mount-bind", about: "bind one folder to another",
			do: func(in *inside) error { return mounted(in, in.path(readDir), "", unix.MS_BIND) }},
		{name: "remount", about: "make what is granted for reading writable", do: on(func(path string) error {
			// Without a sandbox it is no mount yet.
			own := unix.Mount(path, path, "", unix.MS_BIND, "") == nil
			err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
			if own {
				_ = unix.Unmount(path, unix.MNT_DETACH)
			}
			return err
		}, readDir)},
		{name: "fsopen", about: "open a file system by the new calls",
			do: func(*inside) error { return closed(unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)) }},
		{name: "open-tree", about: "take a copy of a mount by the new calls",
			do: on(func(path string) error { return closed(copyTree(path)) }, readDir)},
		{name: "mount-setattr", about: "change the flags of a mount by the new calls", do: on(func(path string) error {
			fd, err := copyTree(path)
			if err != nil {
				// Not a copy, then the mount itself.
				return unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
			}
			defer unix.Close(fd)
			return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}, readDir)},
		{name: "pivot-root", about: "change the root mount", do: on(func(path string) error {
			// A folder that is no mount: EINVAL says that one may in principle.
			return reached(unix.PivotRoot(path, path), unix.EINVAL, unix.EBUSY)
		}, writeDir)},
	})
}

// mounts mounts a file system in the granted folder.
func mounts(kind string) func(*inside) error {
	return func(in *inside) error { return mounted(in, kind, kind, 0) }
}

// mounted mounts something in the granted folder and takes it away again.
func mounted(in *inside, source, kind string, flags uintptr) error {
	path := in.path(mountPoint)
	check(os.Mkdir(path, 0o777))
	check(unix.Mount(source, path, kind, flags, ""))
	return unix.Unmount(path, unix.MNT_DETACH)
}

// mountedOver is a judge that believes do, and takes away what it may have left mounted.
func mountedOver(s *stage, r *trial) finding {
	_ = unix.Unmount(s.path(mountPoint), unix.MNT_DETACH)
	return r.out(r.over && r.err == "", "%s", r.how())
}

func copyTree(path string) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}

// settings are attempts on the settings of the machine, some of which name programs that the kernel runs as root. What
// is written is what they are already; what is dangerous is opened only.
func settings() []*attempt {
	opening := func(name, about, path string) attempt {
		return attempt{name: name, about: about, prepare: needPath(path), do: opens(path, unix.O_WRONLY)}
	}
	limit := func(name, about string, resource int, value uint64) attempt {
		return attempt{name: name, about: about, change: limited, do: func(*inside) error {
			var l unix.Rlimit
			check(unix.Getrlimit(resource, &l))
			l.Cur, l.Max = value, max(l.Max, value)
			check(unix.Setrlimit(resource, &l))
			// For a limit that stays what it is the call succeeds without effect.
			check(unix.Getrlimit(resource, &l))
			return unless(l.Cur >= value, fmt.Sprintf("the limit is still %d", l.Cur))
		}}
	}
	return family(Privileges, attempt{}, []attempt{
		{name: "core-pattern", about: "set the program that the kernel runs for a core dump",
			do: rewrites("/proc/sys/kernel/core_pattern")},
		{name: "sysctl", about: "set how the machine gives out memory", do: rewrites("/proc/sys/vm/overcommit_memory")},
		opening("sysrq", "open the kernel's emergency keys", "/proc/sysrq-trigger"),
		opening("power", "open the machine's power state", "/sys/power/state"),
		opening("kernel-setting", "open a kernel setting in /sys", "/sys/kernel/mm/transparent_hugepage/enabled"),
		opening("binary-formats", "open the list of programs that run programs", "/proc/sys/fs/binfmt_misc/register"),
		opening("module-helper", "set the program that the kernel runs to load a module", "/proc/sys/kernel/modprobe"),
		{name: "host-name", about: "set the machine's name", do: func(*inside) error {
			return unix.Sethostname([]byte(must(os.Hostname())))
		}},
		limit("limit-files", "raise one's own limit of open files", unix.RLIMIT_NOFILE, 1000),
		limit("limit-core", "allow oneself core dumps", unix.RLIMIT_CORE, 1<<20),
		limit("limit-file-size", "raise one's own limit of the size of files", unix.RLIMIT_FSIZE, 1<<30),
	})
}

// rewrites writes to a setting what it is already; an empty one gets a line's end.
func rewrites(name string) func(*inside) error {
	return func(in *inside) error {
		b := must(os.ReadFile(in.path(name)))
		if len(b) == 0 {
			b = []byte("\n")
		}
		return errOf(in.open(name, os.O_WRONLY).Write(b))
	}
}

// groups are attempts on cgroup files. The cgroups are made for the purpose, by root, and every user may write to them.
// Whoever may write to a cgroup is out of its limits, and by the release agent of a v1 tree out of a container
// (CVE-2022-0492).
func groups() []*attempt {
	// makes makes a cgroup, with the files that are attacked writable for all.
	makes := func(s *stage, dir string, files ...string) error {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		s.onClose(func() {
			_ = unix.Rmdir(dir + "/below")
			poll.Within(2*time.Second, func() bool { return unix.Rmdir(dir) == nil })
		})
		s.set("group", dir)
		_ = os.Chmod(dir, 0o777)
		for _, f := range files {
			_ = os.Chmod(filepath.Join(dir, f), 0o666)
		}
		return nil
	}
	unified := func(s *stage) {
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if _, err := os.Stat(root + "/cgroup.subtree_control"); err == nil {
				err := makes(s, root+"/hostsup-selftest-"+s.mark, "cgroup.procs", "cgroup.kill", "cgroup.freeze", "pids.max")
				need("a v2 cgroup that may be written", err)
				return
			}
		}
		needs(false, "a v2 cgroup tree")
	}
	withVictim := func(s *stage) {
		unified(s)
		needVictim(s)
		check(os.WriteFile(s.params["group"]+"/cgroup.procs", fmt.Append(nil, s.victim.Pid), 0))
	}
	file := func(name string) func(*stage) string {
		return func(s *stage) string { return s.read(s.params["group"] + "/" + name) }
	}
	return slices.Concat(family(Cgroups, attempt{prepare: unified}, []attempt{
		{name: "leave", about: "move itself to another cgroup, out of its limits and out of reach", judge: watched,
			do: func(in *inside) error {
				err := in.put("$group/cgroup.procs", "0", 0)
				in.pause()
				return err
			},
			watch: func(s *stage, r *trial) {
				if strings.Contains(s.read(fmt.Sprintf("/proc/%d/cgroup", r.p.pid)), s.mark) {
					s.seen = "it is in another cgroup"
				}
			}},
		{name: "make", about: "make a cgroup", do: on(makeFolder, "$group/below"),
			judge: found(func(s *stage) string {
				if _, err := os.Stat(s.params["group"] + "/below"); err != nil {
					return ""
				}
				return "it is there"
			})},
		{name: "kill", about: "kill another cgroup", prepare: withVictim, judge: unharmed, do: puts("$group/cgroup.kill", "1", 0)},
		{name: "freeze", about: "freeze another cgroup", prepare: withVictim, look: file("cgroup.freeze"),
			do: puts("$group/cgroup.freeze", "1", 0)},
		{name: "raise", about: "raise the limit of another cgroup", look: file("pids.max"), do: puts("$group/pids.max", "max", 0),
			prepare: func(s *stage) {
				if makes(s, "/sys/fs/cgroup/pids/hostsup-selftest-"+s.mark, "pids.max") != nil {
					unified(s)
				}
				needs(os.WriteFile(s.params["group"]+"/pids.max", []byte("10"), 0) == nil, "a cgroup that limits tasks")
			}},
		{name: "release-agent", about: "set the program that the kernel runs when a v1 cgroup empties", do: rewrites("$agent"),
			prepare: func(s *stage) {
				found, _ := filepath.Glob("/sys/fs/cgroup/*/release_agent")
				needs(len(found) != 0, "a v1 cgroup tree")
				s.set("agent", found[0])
			}},
	}), family(Cgroups, attempt{judge: mountedOver}, []attempt{
		{name: "mount", about: "mount the cgroup tree oneself", do: mounts("cgroup2")},
	}))
}
