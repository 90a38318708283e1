//go:build !hostsup_posix

package selftest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// metadata is what Landlock does not cover, as the sandbox names it.
var metadata = []string{"metadata of all files"}

// reads makes an attempt that shows the secret when it works.
func reads(name, about string, prepare func(*stage) error, do func(in *inside) error) *attempt {
	return &attempt{class: Files, name: name, about: about, prepare: prepare, do: do, judge: unseen}
}

func fileReads() []*attempt {
	list := []*attempt{
		reads("read", "open a file beside the granted ones", nil,
			func(in *inside) error { return in.sayFile(in.get("secret")) }),
		reads("read-dotdot", "reach it through .. from a granted folder", nil,
			func(in *inside) error { return in.sayFile(in.get("read") + "/../outside/secret") }),
		reads("read-own-link", "follow a symbolic link that was made inside", nil, func(in *inside) error {
			link := in.get("write") + "/mine"
			check(os.Symlink(in.get("secret"), link))
			return in.sayFile(link)
		}),
		reads("read-found-link", "follow a symbolic link that lies in a granted folder and leads out", nil,
			func(in *inside) error { return in.sayFile(in.get("read") + "/link") }),
		reads("read-hard-link", "make a hard link to it in a granted folder", nil, func(in *inside) error {
			link := in.get("write") + "/hard"
			check(os.Link(in.get("secret"), link))
			return in.sayFile(link)
		}),
		reads("read-link-descriptor", "link an own descriptor's path and go up from there", nil, func(in *inside) error {
			d := must(os.Open(in.get("write")))
			defer d.Close()
			return in.sayFile(fmt.Sprintf("/proc/self/fd/%d/../outside/secret", d.Fd()))
		}),
		reads("read-shared-memory", "read a file in the system's /dev/shm", func(s *stage) error {
			path := "/dev/shm/" + s.secret[:20]
			if err := os.WriteFile(path, []byte(s.secret), 0o600); err != nil {
				return missing(err.Error())
			}
			s.onClose(func() { _ = os.Remove(path) })
			s.set("shm", path)
			return os.Chmod(path, 0o666)
		}, func(in *inside) error { return in.sayFile(in.get("shm")) }),
		reads("handle", "open it by a file handle made outside", func(s *stage) error {
			h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.path("outside/secret"), 0)
			if err != nil {
				return missing("file handles: " + err.Error())
			}
			s.set("handle", hex.EncodeToString(h.Bytes()))
			s.set("handle-type", h.Type())
			return nil
		}, func(in *inside) error {
			b := must(hex.DecodeString(in.get("handle")))
			at := must(os.Open(in.get("read")))
			defer at.Close()
			fd := must(unix.OpenByHandleAt(int(at.Fd()), unix.NewFileHandle(int32(in.num("handle-type")), b), unix.O_RDONLY))
			return in.sayFrom(os.NewFile(uintptr(fd), "handle"))
		}),
		reads("list", "list a folder beside the granted ones", func(s *stage) error {
			return s.file("outside/"+s.secret, "")
		}, func(in *inside) error {
			names, err := os.ReadDir(in.get("outside"))
			for _, n := range names {
				in.say("%s", n.Name())
			}
			return err
		}),
		reads("proc-root", "go through /proc/PID/root of a process outside", needVictim,
			func(in *inside) error { return in.sayFile("/proc/" + in.get("victim") + "/root" + in.get("secret")) }),
		reads("proc-cwd", "go through /proc/PID/cwd of a process outside", needVictim,
			func(in *inside) error { return in.sayFile("/proc/" + in.get("victim") + "/cwd/secret") }),
		reads("proc-fd", "open a descriptor of a process outside through /proc/PID/fd", needVictim,
			func(in *inside) error { return in.sayFile("/proc/" + in.get("victim") + "/fd/" + in.get("victim-fd")) }),
		reads("proc-parent-root", "go through /proc/PPID/root of whoever started it", nil, func(in *inside) error {
			return in.sayFile(fmt.Sprintf("/proc/%d/root%s", max(os.Getppid(), 1), in.get("secret")))
		}),
		{
			class: Files, name: "inotify", about: "watch a folder beside the granted ones and hear of a file made there",
			do: func(in *inside) error {
				fd := must(unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK))
				must(unix.InotifyAddWatch(fd, in.get("outside"), unix.IN_CREATE))
				in.pause()
				b := make([]byte, 1024)
				n, err := unix.Read(fd, b)
				if n > 0 {
					in.say("%q", b[:n])
				}
				return err
			},
			watch: func(s *stage, _ *run1) { _ = s.file("outside/"+s.secret, "") },
			judge: unseen,
			named: metadata,
		},
	}
	// What can be learnt without opening anything.
	look := func(name, about string, prepare func(*stage) error, do func(in *inside) error) {
		list = append(list, &attempt{class: Files, name: name, about: about, prepare: prepare, do: do, judge: unseen, named: metadata})
	}
	look("stat", "learn size and times of a file beside the granted ones", func(s *stage) error {
		s.secret = "8192000123"
		return os.Truncate(s.path("outside/secret"), 8192000123)
	}, func(in *inside) error {
		info, err := os.Stat(in.get("secret"))
		if err == nil {
			in.say("%d bytes", info.Size())
		}
		return err
	})
	look("readlink", "read where a symbolic link outside leads", func(s *stage) error {
		return os.Symlink(s.secret, s.path("outside/link"))
	}, func(in *inside) error {
		to, err := os.Readlink(in.get("outside") + "/link")
		in.say("%s", to)
		return err
	})
	look("getxattr", "read an extended attribute of a file outside", func(s *stage) error {
		if err := unix.Setxattr(s.path("outside/secret"), "user.selftest", []byte(s.secret), 0); err != nil {
			return missing("extended attributes: " + err.Error())
		}
		return nil
	}, func(in *inside) error {
		b := make([]byte, 256)
		n, err := unix.Getxattr(in.get("secret"), "user.selftest", b)
		if n > 0 {
			in.say("%s", b[:n])
		}
		return err
	})
	list = append(list, &attempt{
		class: Files, name: "access", about: "learn whether a file outside exists",
		do: func(in *inside) error {
			return unix.Access(in.get("secret"), unix.F_OK)
		},
		named: metadata,
	})
	return list
}

// changed makes an attempt that is judged by whether something named in
// outside or read is another than it was. look describes it.
func changed(name, about string, look func(s *stage) string, do func(in *inside) error) *attempt {
	return &attempt{
		class: Files, name: name, about: about, do: do,
		prepare: func(s *stage) error {
			if strings.Contains(name, "xattr") {
				if err := unix.Setxattr(s.path("outside/secret"), "user.before", []byte("x"), 0); err != nil {
					return missing("extended attributes: " + err.Error())
				}
			}
			s.vars["before"] = look(s)
			return nil
		},
		judge: func(s *stage, r *run1) finding {
			if now := look(s); now != s.vars["before"] {
				return escaped("it was %q and is %q", s.vars["before"], now)
			}
			return held("%s", r.how())
		},
	}
}

func content(name string) func(*stage) string {
	return func(s *stage) string { return s.read(name) }
}

// listing is what is in a folder.
func listing(name string) func(*stage) string {
	return func(s *stage) string {
		entries, err := os.ReadDir(s.path(name))
		var b strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&b, "%s ", e)
		}
		if err != nil {
			b.WriteString(err.Error())
		}
		return b.String()
	}
}

// inode is what stat tells, without the time of access.
func inode(name string) func(*stage) string {
	return func(s *stage) string {
		var st syscall.Stat_t
		if err := syscall.Lstat(s.path(name), &st); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("mode %o owner %d:%d modified %d.%d changed %d.%d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	}
}

func put(path, text string, flags int) error {
	f, err := os.OpenFile(path, flags|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func fileWrites() []*attempt {
	secret, folder := content("outside/secret"), listing(outsideDir)
	list := []*attempt{
		changed("write", "open a file beside the granted ones for writing", secret,
			func(in *inside) error { return put(in.get("secret"), "overwritten", 0) }),
		changed("write-append", "append to it through a symbolic link made inside", secret, func(in *inside) error {
			link := in.get("write") + "/mine"
			check(os.Symlink(in.get("secret"), link))
			return put(link, "appended", os.O_APPEND)
		}),
		changed("create", "make a file beside the granted folders", folder,
			func(in *inside) error { return put(in.get("outside")+"/new", "new", os.O_CREATE) }),
		changed("create-dotdot", "make a file through .. from the folder that may be written", folder,
			func(in *inside) error { return put(in.get("write")+"/../outside/new", "new", os.O_CREATE) }),
		changed("unlink", "remove a file outside", folder, func(in *inside) error { return unix.Unlink(in.get("secret")) }),
		changed("mkdir", "make a folder outside", folder, func(in *inside) error { return os.Mkdir(in.get("outside")+"/new", 0o777) }),
		changed("fifo", "make a named pipe outside", folder,
			func(in *inside) error { return unix.Mkfifo(in.get("outside")+"/new", 0o666) }),
		changed("symlink", "make a symbolic link outside", folder,
			func(in *inside) error { return os.Symlink("/", in.get("outside")+"/new") }),
		changed("rename-out", "move a file from the folder that may be written to outside", folder, func(in *inside) error {
			return os.Rename(in.get("write")+"/file", in.get("outside")+"/new")
		}),
		changed("rename-in", "move a file from outside into the folder that may be written", folder, func(in *inside) error {
			return os.Rename(in.get("secret"), in.get("write")+"/new")
		}),
		changed("link-out", "make a hard link outside to a file that may be written", folder, func(in *inside) error {
			return os.Link(in.get("write")+"/file", in.get("outside")+"/new")
		}),
		changed("write-granted-read", "write to a file that is granted for reading only", content("read/file"),
			func(in *inside) error { return put(in.get("read")+"/file", "overwritten", 0) }),
		changed("create-granted-read", "make a file in a folder that is granted for reading only", listing(readDir),
			func(in *inside) error { return put(in.get("read")+"/new", "new", os.O_CREATE) }),
		changed("write-through-proc", "open a read-only descriptor again for writing through /proc/self/fd", content("read/file"),
			func(in *inside) error {
				f := must(os.Open(in.get("read") + "/file"))
				defer f.Close()
				return put(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), "overwritten", os.O_TRUNC)
			}),
	}
	list = append(list, &attempt{
		class: Files, name: "lease-granted-read", about: "have everybody wait who opens a file for writing that is granted for reading only",
		do: func(in *inside) error {
			f := must(os.Open(in.get("read") + "/file"))
			defer f.Close()
			must(unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK))
			in.pause()
			return nil
		},
		watch: func(s *stage, r *run1) {
			f, err := os.OpenFile(s.path("read/file"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				f.Close()
			}
			s.vars["open"] = err
		},
		judge: func(s *stage, r *run1) finding {
			if err, _ := s.vars["open"].(error); errors.Is(err, syscall.EWOULDBLOCK) {
				return escaped("to open it for writing would wait")
			}
			return held("%s", r.how())
		},
	})
	truncate := changed("truncate", "truncate it by its path", secret,
		func(in *inside) error { return unix.Truncate(in.get("secret"), 0) })
	truncate.named = []string{"landlock: truncating"}
	list = append(list, truncate)
	// What changes a file without writing to it.
	meta := func(name, about, file string, do func(in *inside, path string) error) {
		at := changed(name, about, inode(file), func(in *inside) error { return do(in, in.get("dir")+"/"+file) })
		at.named = metadata
		list = append(list, at)
	}
	meta("chmod", "change the mode of a file outside", "outside/secret",
		func(_ *inside, path string) error { return os.Chmod(path, 0o640) })
	meta("chmod-granted-read", "change the mode of a file that is granted for reading only", "read/file",
		func(_ *inside, path string) error { return os.Chmod(path, 0o640) })
	meta("chown", "change the owner of a file outside", "outside/secret", func(in *inside, path string) error {
		// To who owns it already, or should: even that changes a time.
		return os.Chown(path, in.num("uid"), -1)
	})
	meta("utimes", "change the times of a file outside", "outside/secret", func(_ *inside, path string) error {
		ts := []unix.Timespec{{Sec: 1}, {Sec: 1}}
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, ts, 0)
	})
	meta("setxattr", "set an extended attribute of a file outside", "outside/secret",
		func(_ *inside, path string) error { return unix.Setxattr(path, "user.after", []byte("x"), 0) })
	meta("inode-flags-granted-read", "change the flags of a file that was opened for reading only", "read/file", func(_ *inside, path string) error {
		f := must(os.Open(path))
		defer f.Close()
		flags := must(unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS))
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags^nodump))
	})
	return list
}

// nodump is FS_NODUMP_FL: a flag of a file that any owner may set, and that
// only backup programs look at.
const nodump = 0x40
