//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// fileDenied are attempts on paths that a policy denies within a grant.
func fileDenied() []*attempt {
	denies := func(paths ...string) func(*stage, *policy.Policy, *policy.Limits) {
		return func(s *stage, p *policy.Policy, _ *policy.Limits) {
			for _, d := range paths {
				p.Deny = append(p.Deny, s.path(d))
			}
		}
	}
	hidden := func(name, about string, do func(in *inside) error) *attempt {
		return &attempt{
			class: Files, name: name, about: about, do: do, judge: unseen,
			change:  denies("write/conf/.env"),
			refused: []policy.Level{policy.Landlock},
			prepare: func(s *stage) error {
				check(os.Mkdir(s.path("write/conf"), 0o777))
				check(os.Chmod(s.path("write/conf"), 0o777))
				return s.file("write/conf/.env", s.secret)
			},
		}
	}
	list := []*attempt{
		hidden("denied-read", "read a denied file in a granted folder",
			func(in *inside) error { return in.sayFile(in.get("write") + "/conf/.env") }),
		hidden("denied-ancestor", "rename the folder that holds a denied file and read it there", func(in *inside) error {
			check(os.Rename(in.get("write")+"/conf", in.get("write")+"/moved"))
			return in.sayFile(in.get("write") + "/moved/.env")
		}),
		hidden("denied-rename", "rename a denied file and read it under its new name", func(in *inside) error {
			check(os.Rename(in.get("write")+"/conf/.env", in.get("write")+"/env"))
			return in.sayFile(in.get("write") + "/env")
		}),
		hidden("denied-hard-link", "make a hard link to a denied file and read that", func(in *inside) error {
			check(os.Link(in.get("write")+"/conf/.env", in.get("write")+"/env"))
			return in.sayFile(in.get("write") + "/env")
		}),
		hidden("denied-umount", "take away what covers a denied file", func(in *inside) error {
			err := unix.Unmount(in.get("write")+"/conf/.env", unix.MNT_DETACH)
			if e := in.sayFile(in.get("write") + "/conf/.env"); e != nil {
				return e
			}
			return err
		}),
	}
	there := func(name, about, deny, path string, do func(in *inside) error) *attempt {
		at := changed(name, about, content(path), do)
		if strings.HasPrefix(name, "denied-missing") {
			// What stands in for it on the disk is not what was tried.
			at.judge = func(s *stage, r *run1) finding {
				if now := s.read(path); now == "new" {
					return escaped("it is there: %q", now)
				}
				return held("%s", r.how())
			}
		}
		at.change = denies(deny)
		at.refused = []policy.Level{policy.Landlock}
		return at
	}
	return append(list,
		there("denied-write", "write to a denied file in a granted folder", "write/file", "write/file",
			func(in *inside) error { return put(in.get("write")+"/file", "overwritten", 0) }),
		there("denied-unlink", "remove a denied file in a granted folder", "write/file", "write/file",
			func(in *inside) error { return os.Remove(in.get("write") + "/file") }),
		there("denied-replace", "move another file over a denied one", "write/file", "write/file", func(in *inside) error {
			check(put(in.get("write")+"/other", "replaced", os.O_CREATE))
			return os.Rename(in.get("write")+"/other", in.get("write")+"/file")
		}),
		there("denied-missing", "make a denied file that did not exist", "write/.env", "write/.env",
			func(in *inside) error { return put(in.get("write")+"/.env", "new", os.O_CREATE) }),
		there("denied-missing-folder", "make a denied file and the folder that did not exist for it either", "write/new/.env", "write/new/.env",
			func(in *inside) error {
				check(os.MkdirAll(in.get("write")+"/new", 0o777))
				return put(in.get("write")+"/new/.env", "new", os.O_CREATE)
			}),
		&attempt{
			class: Files, name: "denied-missing-placeholder", about: "remove, move, replace, change or lock what stands for a denied file that did not exist",
			change: denies("write/.env"), refused: []policy.Level{policy.Landlock},
			do: disturbPlaceholder,
			judge: func(s *stage, r *run1) finding {
				if len(r.said) > 0 {
					return escaped("%s", strings.Join(r.said, ", "))
				}
				if _, err := os.Lstat(s.path("write/moved")); err == nil {
					return escaped("it was moved")
				}
				return held("%s", r.how())
			},
		},
	)
}

// disturbPlaceholder tries everything on write/.env, and says what went.
func disturbPlaceholder(in *inside) (first error) {
	dir := in.get("write")
	at, other := dir+"/.env", dir+"/other"
	if err := os.Mkdir(other, 0o777); err != nil {
		return err
	}
	for _, deed := range []struct {
		name string
		do   func() error
	}{
		{"give it another mode", func() error { return unix.Chmod(at, 0o777) }},
		{"give it another time", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, at, make([]unix.Timespec, 2), 0) }},
		{"give it an attribute", func() error { return unix.Setxattr(at, "user.new", []byte("x"), 0) }},
		{"lock it", func() error {
			fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		}},
		{"take away what covers it", func() error { return unix.Unmount(at, unix.MNT_DETACH) }},
		{"exchange it", func() error { return unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE) }},
		{"replace it", func() error { return os.Rename(other, at) }},
		{"move it away", func() error { return os.Rename(at, dir+"/moved") }},
		{"remove it", func() error { return unix.Rmdir(at) }},
		{"put something there", func() error {
			if err := os.MkdirAll(at, 0o777); err != nil {
				return err
			}
			return put(at+"/new", "new", os.O_CREATE)
		}},
	} {
		err := deed.do()
		if err == nil {
			in.say("it could %s", deed.name)
		} else if first == nil {
			first = err
		}
	}
	return first
}

// handedOver are attempts to find what the supervisor has open without meaning
// to hand it on: descriptors without close-on-exec.
func handedOver() []*attempt {
	// each calls f for every descriptor of a kind that is open beyond 0, 1 and 2.
	each := func(kind uint32, f func(fd int) error) error {
		err := os.ErrNotExist
		for fd := 3; fd < 1024; fd++ {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == kind {
				if e := f(fd); err == os.ErrNotExist || e == nil {
					err = e
				}
			}
		}
		return err
	}
	open := func(s *stage, path string, flags int) error {
		fd, err := unix.Open(path, flags, 0) // for children too
		if err == nil {
			s.onClose(func() { unix.Close(fd) })
		}
		return err
	}
	return []*attempt{
		{
			class: Files, name: "inherited-file", about: "read a descriptor that the supervisor has left open",
			prepare: func(s *stage) error { return open(s, s.path("outside/secret"), unix.O_RDONLY) },
			do: func(in *inside) error {
				return each(unix.S_IFREG, func(fd int) error {
					b := make([]byte, 4096)
					n, err := unix.Pread(fd, b, 0)
					if n > 0 {
						in.say("%q", b[:n])
					}
					return err
				})
			},
			judge: unseen,
		},
		{
			class: Files, name: "inherited-folder", about: "go on from a folder that the supervisor has left open",
			prepare: func(s *stage) error { return open(s, s.path(outsideDir), unix.O_RDONLY|unix.O_DIRECTORY) },
			do: func(in *inside) error {
				return each(unix.S_IFDIR, func(fd int) error {
					f, err := unix.Openat(fd, "secret", unix.O_RDONLY, 0)
					if err != nil {
						return err
					}
					return in.sayFrom(os.NewFile(uintptr(f), "secret"))
				})
			},
			judge: unseen,
		},
		{
			class: Files, name: "handed-folder", about: "change the mode of a file in a folder that was handed over on purpose",
			prepare: func(s *stage) error {
				dir, err := os.Open(s.path(outsideDir))
				if err == nil {
					s.onClose(func() { dir.Close() })
					s.extra = append(s.extra, dir)
					s.vars["before"] = inode("outside/secret")(s)
				}
				return err
			},
			do: func(*inside) error { return unix.Fchmodat(3, "secret", 0o640, 0) },
			judge: func(s *stage, r *run1) finding {
				if now := inode("outside/secret")(s); now != s.vars["before"] {
					return escaped("it was %s and is %s", s.vars["before"], now)
				}
				return held("%s", r.how())
			},
			refused: []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock},
		},
		{
			class: Files, name: "inherited-path", about: "use a descriptor that the supervisor has open for the path only",
			prepare: func(s *stage) error { return open(s, s.path("outside/secret"), unix.O_PATH) },
			do: func(in *inside) error {
				return each(unix.S_IFREG, func(fd int) error { return in.sayFile(fmt.Sprintf("/proc/self/fd/%d", fd)) })
			},
			judge: unseen,
		},
		{
			class: Files, name: "inherited-socket", about: "speak on a socket that the supervisor has left open",
			prepare: func(s *stage) error {
				p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0))
				unix.CloseOnExec(p[0])
				s.vars["socket"] = p[0]
				s.onClose(func() { unix.Close(p[0]); unix.Close(p[1]) })
				return nil
			},
			do: func(in *inside) error {
				return each(unix.S_IFSOCK, func(fd int) error { return unix.Send(fd, []byte("hello"), 0) })
			},
			judge: func(s *stage, r *run1) finding {
				b := make([]byte, 16)
				if n, _ := unix.Read(s.vars["socket"].(int), b); n > 0 {
					return escaped("it said %q", b[:n])
				}
				return held("%s", r.how())
			},
		},
	}
}
