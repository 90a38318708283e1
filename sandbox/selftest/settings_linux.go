//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mounts are attempts to change what is mounted. Without a sandbox they make a
// mount in the attempt's own folder and take it away again.
func mounts() []*attempt {
	var list []*attempt
	try := func(name, about string, do func(in *inside) error) {
		list = append(list, &attempt{
			class: Privileges, name: name, about: about, do: do,
			judge: func(s *stage, r *run1) finding {
				_ = unix.Unmount(s.path("write/mount"), unix.MNT_DETACH)
				if r.over && r.err == "" {
					return escaped("%s", r.how())
				}
				return held("%s", r.how())
			},
		})
	}
	try("mount-tmpfs", "mount a file system in memory", func(in *inside) error { return mounted(in, "tmpfs", "tmpfs") })
	try("mount-proc", "mount another /proc", func(in *inside) error { return mounted(in, "proc", "proc") })
	try("mount-bind", "bind one folder to another", func(in *inside) error {
		path := in.get("write") + "/mount"
		check(os.Mkdir(path, 0o777))
		check(unix.Mount(in.get("read"), path, "", unix.MS_BIND, ""))
		return unix.Unmount(path, unix.MNT_DETACH)
	})
	try("remount", "make what is granted for reading writable", func(in *inside) error {
		path := in.get("read")
		// Without a sandbox it is no mount yet.
		own := unix.Mount(path, path, "", unix.MS_BIND, "") == nil
		err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
		if own {
			_ = unix.Unmount(path, unix.MNT_DETACH)
		}
		return err
	})
	try("fsopen", "open a file system by the new calls", func(*inside) error {
		fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	try("open-tree", "take a copy of a mount by the new calls", func(in *inside) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, in.get("read"), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	try("mount-setattr", "change the flags of a mount by the new calls", func(in *inside) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, in.get("read"), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			// Not a copy, then the mount itself.
			return unix.MountSetattr(unix.AT_FDCWD, in.get("read"), 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}
		defer unix.Close(fd)
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	})
	try("pivot-root", "change the root mount", func(in *inside) error {
		// A folder that is no mount: EINVAL says that one may in principle.
		err := unix.PivotRoot(in.get("write"), in.get("write"))
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EBUSY) {
			return nil
		}
		return err
	})
	return list
}

// settings are attempts on the settings of the machine. What is written is what
// they are already; what is dangerous is opened only.
func settings() []*attempt {
	var list []*attempt
	try := func(name, about string, do func() error) *attempt {
		list = append(list, &attempt{class: Privileges, name: name, about: about, do: func(*inside) error { return do() }})
		return list[len(list)-1]
	}
	opens := func(name, about, path string) {
		try(name, about, func() error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}).prepare = func(*stage) error {
			if _, err := os.Stat(path); err != nil {
				return missing(path)
			}
			return nil
		}
	}
	try("core-pattern", "set the program that the kernel runs for a core dump", func() error { return rewrite("/proc/sys/kernel/core_pattern") })
	try("sysctl", "set how the machine gives out memory", func() error { return rewrite("/proc/sys/vm/overcommit_memory") })
	opens("sysrq", "open the kernel's emergency keys", "/proc/sysrq-trigger")
	opens("power", "open the machine's power state", "/sys/power/state")
	opens("kernel-setting", "open a kernel setting in /sys", "/sys/kernel/mm/transparent_hugepage/enabled")
	opens("binary-formats", "open the list of programs that run programs", "/proc/sys/fs/binfmt_misc/register")
	opens("module-helper", "set the program that the kernel runs to load a module", "/proc/sys/kernel/modprobe")
	try("host-name", "set the machine's name", func() error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	})
	limit := func(name, about string, resource int, value uint64) {
		try(name, about, func() error {
			var l unix.Rlimit
			if err := unix.Getrlimit(resource, &l); err != nil {
				return err
			}
			l.Cur, l.Max = value, max(l.Max, value)
			if err := unix.Setrlimit(resource, &l); err != nil {
				return err
			}
			// For a limit that stays what it is the call succeeds without effect.
			if err := unix.Getrlimit(resource, &l); err != nil {
				return err
			}
			if l.Cur < value {
				return fmt.Errorf("the limit is still %d", l.Cur)
			}
			return nil
		}).change = limited
	}
	limit("limit-files", "raise one's own limit of open files", unix.RLIMIT_NOFILE, 1000)
	limit("limit-core", "allow oneself core dumps", unix.RLIMIT_CORE, 1<<20)
	limit("limit-file-size", "raise one's own limit of the size of files", unix.RLIMIT_FSIZE, 1<<30)
	return list
}
