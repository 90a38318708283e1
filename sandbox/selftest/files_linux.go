//go:build !hostsup_posix

package selftest

import (
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// metadata is what Landlock does not cover, as the sandbox names it.
var metadata = []string{"metadata of all files"}

// fileReads are attempts to learn something of a file that is not granted: by its path, by links, by what the kernel
// shows of a process outside, and by a handle, as the container escape of 2014 called Shocker did.
func fileReads() []*attempt {
	return slices.Concat(family(Files, attempt{judge: unseen}, []attempt{
		{name: "read", about: "open a file beside the granted ones", do: reads(secretFile)},
		{name: "read-dotdot", about: "reach it through .. from a granted folder", do: reads("read/../outside/secret")},
		{name: "read-own-link", about: "follow a symbolic link that was made inside", do: func(in *inside) error {
			check(os.Symlink(in.path(secretFile), in.path("write/mine")))
			return in.sayFile("write/mine")
		}},
		{name: "read-found-link", about: "follow a symbolic link that lies in a granted folder and leads out",
			do: reads("read/link")},
		{name: "read-hard-link", about: "make a hard link to it in a granted folder", do: func(in *inside) error {
			check(os.Link(in.path(secretFile), in.path("write/hard")))
			return in.sayFile("write/hard")
		}},
		{name: "read-link-descriptor", about: "link an own descriptor's path and go up from there", do: func(in *inside) error {
			return in.sayFile(descriptor(in.open("write", os.O_RDONLY).Fd()) + "/../outside/secret")
		}},
		{name: "read-shared-memory", about: "read a file in the system's /dev/shm", do: reads("$shm"),
			prepare: func(s *stage) {
				path := "/dev/shm/" + s.secret[:20]
				need("shared memory", os.WriteFile(path, []byte(s.secret), 0o600))
				s.onClose(func() { _ = os.Remove(path) })
				s.set("shm", path)
				check(os.Chmod(path, 0o666))
			}},
		{name: "handle", about: "open it by a file handle made outside",
			prepare: func(s *stage) {
				h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.path(secretFile), 0)
				need("file handles", err)
				s.set("handle", hex.EncodeToString(h.Bytes()))
				s.set("handle-type", h.Type())
			},
			do: func(in *inside) error {
				h := unix.NewFileHandle(int32(in.num("handle-type")), must(hex.DecodeString(in.get("handle"))))
				return in.sayOpened(unix.OpenByHandleAt(int(in.open("read", os.O_RDONLY).Fd()), h, unix.O_RDONLY))
			}},
		{name: "list", about: "list a folder beside the granted ones",
			prepare: func(s *stage) { check(s.file("outside/"+s.secret, "")) },
			do:      func(in *inside) error { return in.sayNames(outsideDir) }},
		{name: "proc-root", about: "go through /proc/PID/root of a process outside",
			prepare: needVictim, do: reads("/proc/$victim/root$dir/outside/secret")},
		{name: "proc-cwd", about: "go through /proc/PID/cwd of a process outside",
			prepare: needVictim, do: reads("/proc/$victim/cwd/secret")},
		{name: "proc-fd", about: "open a descriptor of a process outside through /proc/PID/fd",
			prepare: needVictim, do: reads("/proc/$victim/fd/$descriptor")},
		{name: "proc-parent-root", about: "go through /proc/PPID/root of whoever started it",
			do: reads("/proc/$parent/root$dir/outside/secret")},
	}), family(Files, attempt{judge: unseen, named: metadata}, []attempt{ // what can be learnt without opening anything
		{name: "inotify", about: "watch a folder beside the granted ones and hear of a file made there",
			do: func(in *inside) error {
				fd := must(unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK))
				must(unix.InotifyAddWatch(fd, in.path(outsideDir), unix.IN_CREATE))
				in.pause()
				return in.sayRead(func(b []byte) (int, error) { return unix.Read(fd, b) })
			},
			watch: func(s *stage, _ *trial) { _ = s.file("outside/"+s.secret, "") }},
		{name: "stat", about: "learn size and times of a file beside the granted ones",
			prepare: func(s *stage) {
				s.secret = "8192000123"
				check(os.Truncate(s.path(secretFile), 8192000123))
			},
			do: func(in *inside) error {
				info := must(os.Stat(in.path(secretFile)))
				in.say("%d bytes", info.Size())
				return nil
			}},
		{name: "readlink", about: "read where a symbolic link outside leads",
			prepare: func(s *stage) { check(os.Symlink(s.secret, s.path("outside/link"))) },
			do: func(in *inside) error {
				to, err := os.Readlink(in.path("outside/link"))
				in.say("%s", to)
				return err
			}},
		{name: "getxattr", about: "read an extended attribute of a file outside",
			prepare: func(s *stage) {
				need("extended attributes", unix.Setxattr(s.path(secretFile), "user.selftest", []byte(s.secret), 0))
			},
			do: func(in *inside) error {
				return in.sayRead(func(b []byte) (int, error) { return unix.Getxattr(in.path(secretFile), "user.selftest", b) })
			}},
	}), family(Files, attempt{named: metadata}, []attempt{
		{name: "access", about: "learn whether a file outside exists",
			do: on(func(path string) error { return unix.Access(path, unix.F_OK) }, secretFile)},
	}))
}

// fileWrites are attempts to change a file or folder that is not granted for writing: by opening it, by links, by moving
// things in and out, and by opening a read-only descriptor again.
func fileWrites() []*attempt {
	return slices.Concat(family(Files, attempt{look: content(secretFile)}, []attempt{
		{name: "write", about: "open a file beside the granted ones for writing", do: puts(secretFile, "overwritten", 0)},
		{name: "write-append", about: "append to it through a symbolic link made inside", do: func(in *inside) error {
			check(os.Symlink(in.path(secretFile), in.path("write/mine")))
			return in.put("write/mine", "appended", os.O_APPEND)
		}},
	}), family(Files, attempt{look: listing(outsideDir)}, []attempt{
		{name: "create", about: "make a file beside the granted folders", do: puts("outside/new", "new", os.O_CREATE)},
		{name: "create-dotdot", about: "make a file through .. from the folder that may be written",
			do: puts("write/../outside/new", "new", os.O_CREATE)},
		{name: "unlink", about: "remove a file outside", do: on(unix.Unlink, secretFile)},
		{name: "mkdir", about: "make a folder outside", do: on(makeFolder, "outside/new")},
		{name: "fifo", about: "make a named pipe outside",
			do: on(func(path string) error { return unix.Mkfifo(path, 0o666) }, "outside/new")},
		{name: "symlink", about: "make a symbolic link outside", do: with(os.Symlink, "/", "outside/new")},
		{name: "rename-out", about: "move a file from the folder that may be written to outside",
			do: with(os.Rename, "write/file", "outside/new")},
		{name: "rename-in", about: "move a file from outside into the folder that may be written",
			do: with(os.Rename, secretFile, "write/new")},
		{name: "link-out", about: "make a hard link outside to a file that may be written",
			do: with(os.Link, "write/file", "outside/new")},
	}), family(Files, attempt{look: content("read/file")}, []attempt{
		{name: "write-granted-read", about: "write to a file that is granted for reading only",
			do: puts("read/file", "overwritten", 0)},
		{name: "create-granted-read", about: "make a file in a folder that is granted for reading only",
			look: listing(readDir), do: puts("read/new", "new", os.O_CREATE)},
		{name: "write-through-proc", about: "open a read-only descriptor again for writing through /proc/self/fd",
			do: func(in *inside) error {
				return in.put(descriptor(in.open("read/file", os.O_RDONLY).Fd()), "overwritten", os.O_TRUNC)
			}},
		{name: "lease-granted-read", about: "have everybody wait who opens a file for writing that is granted for reading only",
			do: func(in *inside) error {
				must(unix.FcntlInt(in.open("read/file", os.O_RDONLY).Fd(), unix.F_SETLEASE, unix.F_RDLCK))
				in.pause()
				return nil
			},
			watch: func(s *stage, _ *trial) {
				err := closed(unix.Open(s.path("read/file"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
				if errors.Is(err, syscall.EWOULDBLOCK) {
					s.seen = "to open it for writing would wait"
				}
			},
			judge: watched},
		{name: "truncate", about: "truncate it by its path", look: content(secretFile), named: []string{"landlock: truncating"},
			do: on(func(path string) error { return unix.Truncate(path, 0) }, secretFile)},
	}), family(Files, attempt{look: inode(secretFile), named: metadata}, []attempt{ // what changes a file without writing to it
		{name: "chmod", about: "change the mode of a file outside", do: on(changeMode, secretFile)},
		{name: "chmod-granted-read", about: "change the mode of a file that is granted for reading only",
			look: inode("read/file"), do: on(changeMode, "read/file")},
		{name: "chown", about: "change the owner of a file outside", do: func(in *inside) error {
			// To who owns it already, or should: even that changes a time.
			return os.Chown(in.path(secretFile), in.num("uid"), -1)
		}},
		{name: "utimes", about: "change the times of a file outside", do: on(func(path string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
		}, secretFile)},
		{name: "setxattr", about: "set an extended attribute of a file outside",
			prepare: func(s *stage) {
				need("extended attributes", unix.Setxattr(s.path(secretFile), "user.before", []byte("x"), 0))
			},
			do: on(func(path string) error { return unix.Setxattr(path, "user.after", []byte("x"), 0) }, secretFile)},
		{name: "inode-flags-granted-read", about: "change the flags of a file that was opened for reading only",
			look: inode("read/file"), do: func(in *inside) error {
				fd := int(in.open("read/file", os.O_RDONLY).Fd())
				flags := must(unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS))
				return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags^nodump))
			}},
	}))
}

func makeFolder(path string) error { return os.Mkdir(path, 0o777) }
func changeMode(path string) error { return os.Chmod(path, 0o640) }

// nodump is FS_NODUMP_FL: a flag of a file that any owner may set, and that only backup programs look at.
const nodump = 0x40
