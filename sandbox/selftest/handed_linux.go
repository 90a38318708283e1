//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// denies is a change to a policy that denies a path on the stage, also within a grant.
func denies(name string) func(*stage, *policy.Policy, *policy.Limits) {
	return func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Deny = append(p.Deny, s.path(name)) }
}

// withoutMounts is the level that cannot deny anything within a grant.
var withoutMounts = []policy.Level{policy.Landlock}

// fileDenied are attempts on paths that a policy denies within a grant: by a file's other names, by the folders above it,
// which must not be renamed either, and by what stands for it while it does not exist.
func fileDenied() []*attempt {
	hidden := attempt{judge: unseen, change: denies("write/conf/.env"), refused: withoutMounts, prepare: func(s *stage) {
		check(errors.Join(s.folder("write/conf"), s.file("write/conf/.env", s.secret)))
	}}
	// then does something with two paths and reads the second.
	then := func(do func(from, to string) error, from, to, name string) func(*inside) error {
		return func(in *inside) error {
			check(do(in.path(from), in.path(to)))
			return in.sayFile(name)
		}
	}
	// What stands for a missing file on the disk is not what was tried.
	isNew := func(name string) func(*stage, *trial) finding {
		return func(s *stage, r *trial) finding { return r.out(s.read(name) == "new", "it is there") }
	}
	return slices.Concat(family(Files, hidden, []attempt{
		{name: "denied-read", about: "read a denied file in a granted folder", do: reads("write/conf/.env")},
		{name: "denied-ancestor", about: "rename the folder that holds a denied file and read it there",
			do: then(os.Rename, "write/conf", "write/moved", "write/moved/.env")},
		{name: "denied-rename", about: "rename a denied file and read it under its new name",
			do: then(os.Rename, "write/conf/.env", "write/env", "write/env")},
		{name: "denied-hard-link", about: "make a hard link to a denied file and read that",
			do: then(os.Link, "write/conf/.env", "write/env", "write/env")},
		{name: "denied-umount", about: "take away what covers a denied file", do: func(in *inside) error {
			err := unix.Unmount(in.path("write/conf/.env"), unix.MNT_DETACH)
			check(in.sayFile("write/conf/.env"))
			return err
		}},
	}), family(Files, attempt{look: content("write/file"), change: denies("write/file"), refused: withoutMounts}, []attempt{
		{name: "denied-write", about: "write to a denied file in a granted folder", do: puts("write/file", "overwritten", 0)},
		{name: "denied-unlink", about: "remove a denied file in a granted folder", do: on(os.Remove, "write/file")},
		{name: "denied-replace", about: "move another file over a denied one", do: func(in *inside) error {
			check(in.put("write/other", "replaced", os.O_CREATE))
			return os.Rename(in.path("write/other"), in.path("write/file"))
		}},
		{name: "denied-missing", about: "make a denied file that did not exist", change: denies("write/.env"),
			do: puts("write/.env", "new", os.O_CREATE), judge: isNew("write/.env")},
		{name: "denied-missing-folder", about: "make a denied file and the folder that did not exist for it either",
			change: denies("write/new/.env"), judge: isNew("write/new/.env"),
			do: func(in *inside) error {
				check(os.MkdirAll(in.path("write/new"), 0o777))
				return in.put("write/new/.env", "new", os.O_CREATE)
			}},
		{name: "denied-missing-placeholder", about: "remove, move, replace, change or lock what stands for a denied file that did not exist",
			change: denies("write/.env"), do: disturbPlaceholder, judge: func(s *stage, r *trial) finding {
				_, err := os.Lstat(s.path("write/moved"))
				return r.out(len(r.said) > 0 || err == nil, "%s, moved: %t", strings.Join(r.said, ", "), err == nil)
			}},
	}))
}

// disturbPlaceholder tries everything on write/.env, and says what went.
func disturbPlaceholder(in *inside) (first error) {
	at, other := in.path("write/.env"), in.path("write/other")
	check(os.Mkdir(other, 0o777))
	for _, deed := range []struct {
		name string
		do   func() error
	}{
		{"give it another mode", func() error { return unix.Chmod(at, 0o777) }},
		{"give it another time", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, at, make([]unix.Timespec, 2), 0) }},
		{"give it an attribute", func() error { return unix.Setxattr(at, "user.new", []byte("x"), 0) }},
		{"lock it", func() error {
			fd := must(unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
			defer unix.Close(fd)
			return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		}},
		{"take away what covers it", func() error { return unix.Unmount(at, unix.MNT_DETACH) }},
		{"exchange it", func() error {
			return unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE)
		}},
		{"replace it", func() error { return os.Rename(other, at) }},
		{"move it away", func() error { return os.Rename(at, in.path("write/moved")) }},
		{"remove it", func() error { return unix.Rmdir(at) }},
		{"put something there", func() error {
			check(os.MkdirAll(at, 0o777))
			return in.put("write/.env/new", "new", os.O_CREATE)
		}},
	} {
		err := tried(deed.do)
		if err == nil {
			in.say("it could %s", deed.name)
		} else if first == nil {
			first = err
		}
	}
	return first
}

// handedOver are attempts to find what the supervisor has open without meaning to hand it on: descriptors without
// close-on-exec, by which runc was left in 2024 (CVE-2024-21626).
func handedOver() []*attempt {
	// each calls f for every descriptor of a kind that is open beyond 0, 1 and 2, and needs one that went well.
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
	// open opens something so that children have it too.
	open := func(name string, flags int) func(*stage) {
		return func(s *stage) {
			fd, err := unix.Open(s.path(name), flags, 0)
			s.onClose(func() { unix.Close(fd) })
			check(err)
		}
	}
	return family(Files, attempt{judge: unseen}, []attempt{
		{name: "inherited-file", about: "read a descriptor that the supervisor has left open",
			prepare: open(secretFile, unix.O_RDONLY), do: func(in *inside) error {
				return each(unix.S_IFREG, func(fd int) error {
					return in.sayRead(func(b []byte) (int, error) { return unix.Pread(fd, b, 0) })
				})
			}},
		{name: "inherited-folder", about: "go on from a folder that the supervisor has left open",
			prepare: open(outsideDir, unix.O_RDONLY|unix.O_DIRECTORY), do: func(in *inside) error {
				return each(unix.S_IFDIR, func(fd int) error { return in.sayOpened(unix.Openat(fd, "secret", unix.O_RDONLY, 0)) })
			}},
		{name: "handed-folder", about: "change the mode of a file in a folder that was handed over on purpose",
			look: inode(secretFile), refused: []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock},
			prepare: func(s *stage) {
				dir := must(os.Open(s.path(outsideDir)))
				s.onClose(func() { dir.Close() })
				s.extra = []*os.File{dir}
			},
			do: func(*inside) error { return unix.Fchmodat(3, "secret", 0o640, 0) }},
		{name: "inherited-path", about: "use a descriptor that the supervisor has open for the path only",
			prepare: open(secretFile, unix.O_PATH), do: func(in *inside) error {
				return each(unix.S_IFREG, func(fd int) error { return in.sayFile(descriptor(uintptr(fd))) })
			}},
		{name: "inherited-socket", about: "speak on a socket that the supervisor has left open",
			prepare: func(s *stage) {
				p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0))
				unix.CloseOnExec(p[0])
				s.ours = p[0]
				s.onClose(func() { unix.Close(p[0]); unix.Close(p[1]) })
			},
			do: func(*inside) error {
				return each(unix.S_IFSOCK, func(fd int) error { return unix.Send(fd, []byte("hello"), 0) })
			},
			judge: found(func(s *stage) string { return drain(s.ours) })},
	})
}

// sent are attempts with the descriptor of a folder that a process outside sends over a socket, which no filter sees.
func sent() []*attempt {
	receive := func(in *inside) int {
		in.pause()
		b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(3, b, oob, 0)
		check(err)
		list, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(list) == 0 {
			check(fmt.Errorf("no descriptor came: %w", errors.Join(err, os.ErrNotExist)))
		}
		return must(unix.ParseUnixRights(&list[0]))[0]
	}
	common := attempt{
		prepare: func(s *stage) {
			pair := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			theirs := os.NewFile(uintptr(pair[1]), "socket")
			s.onClose(func() { unix.Close(pair[0]); theirs.Close() })
			s.extra, s.ours = []*os.File{theirs}, pair[0]
		},
		watch: func(s *stage, _ *trial) {
			dir := must(unix.Open(s.path(outsideDir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
			defer unix.Close(dir)
			check(unix.Sendmsg(s.ours, []byte("x"), unix.UnixRights(dir), nil, unix.MSG_NOSIGNAL))
		},
	}
	return family(Files, common, []attempt{
		{name: "sent-folder-read", about: "read a file in a folder whose descriptor a process outside sends", judge: unseen,
			do: func(in *inside) error { return in.sayOpened(unix.Openat(receive(in), "secret", unix.O_RDONLY, 0)) }},
		{name: "sent-folder-write", about: "make, remove and rename files in such a folder", look: listing(outsideDir),
			do: func(in *inside) error {
				dir := receive(in)
				return errors.Join(
					closed(unix.Openat(dir, "new", unix.O_CREAT|unix.O_WRONLY, 0o644)), unix.Mkdirat(dir, "folder", 0o755),
					unix.Renameat(dir, "secret", dir, "moved"), unix.Unlinkat(dir, "moved", 0))
			}},
		{name: "sent-folder-mode", about: "change the mode of a file in a folder whose descriptor a process outside sends",
			look:       inode(secretFile),
			unpromised: "a filter does not see what comes with a message, and Landlock does not hold modes and times",
			do:         func(in *inside) error { return unix.Fchmodat(receive(in), "secret", 0o640, 0) }},
	})
}

// innerDir is a folder in the folder that may be written, so that it can be replaced.
const innerDir = writeDir + "/inner"

// replaced are attempts on the next life: the first one puts a symbolic link, or another folder, where the policy grants
// a folder, or closes a folder. runc lost that race between check and use in CVE-2021-30465; here there is all the time.
func replaced() []*attempt {
	common := attempt{
		refusalHolds: true, // a start that is refused
		prepare: func(s *stage) {
			// Nobody but the confined process is to be able to: a sticky folder is safe.
			check(errors.Join(os.Chmod(s.dir, 0o777|os.ModeSticky), s.folder(innerDir)))
		},
		judge: func(s *stage, r *trial) finding {
			if !strings.Contains(s.read("outside/new"), "no such file") {
				return escaped("a file was made outside")
			}
			return r.out(r.saw(s.secret), "the secret: %s", r.how())
		},
	}
	// links has the inner folder lead elsewhere.
	links := func(to string) func(*inside) error {
		return func(in *inside) error {
			return errors.Join(unix.Rmdir(in.path(innerDir)), os.Symlink(in.path(to), in.path(innerDir)))
		}
	}
	// closes has the pattern of the next life not find what it denies.
	closes := func(name, about string, mode uint32) attempt {
		return attempt{
			name: name, about: about, refused: withoutMounts, change: denies("write/*/.denied"),
			prepare: func(s *stage) {
				common.prepare(s)
				s.onClose(func() { _ = os.Chmod(s.path(innerDir), 0o777) }) // to be removed
				check(s.file(innerDir+"/.denied", s.secret))
			},
			first: on(func(path string) error { return unix.Chmod(path, mode) }, innerDir),
			do: func(in *inside) error {
				return errors.Join(unix.Chmod(in.path(innerDir), 0o777), in.sayFile(innerDir+"/.denied"))
			},
		}
	}
	return family(Files, common, []attempt{
		{name: "next-life-link", about: "put a symbolic link in the place of a granted folder for the next life",
			change: func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Write = append(p.Write, s.path(innerDir)) },
			first:  links(outsideDir), do: func(in *inside) error {
				return errors.Join(in.sayFile(innerDir+"/secret"), in.put(innerDir+"/new", "new", os.O_CREATE))
			}},
		{name: "next-life-link-read", about: "put a symbolic link in the place of a folder that is granted for reading",
			change: func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Read = append(p.Read, s.path(innerDir)) },
			first:  links(outsideDir), do: reads(innerDir + "/secret")},
		{name: "next-life-link-above", about: "put a symbolic link above a granted folder",
			change: func(s *stage, p *policy.Policy, _ *policy.Limits) {
				p.Write = append(p.Write, "-"+s.path(innerDir, "outside"))
			},
			first: links("$dir"), do: reads(innerDir + "/" + secretFile)},
		{name: "other-host-link", about: "put a symbolic link where the policy of another host grants a folder",
			change: func(s *stage, p *policy.Policy, _ *policy.Limits) {
				if s.params["life"] != firstLife {
					p.Write, p.Read = nil, append(p.Read, s.path(writeDir), s.path(innerDir))
				}
			},
			first: links(outsideDir), do: reads(innerDir + "/secret")},
		closes("next-life-closed", "close a folder for the next life, so that what is denied in it is not found", 0),
		closes("next-life-unsearchable", "the same for a folder that can be listed but not entered", 0o400),
	})
}

// keptImage is an attempt on the image of a work folder that is kept, which the kernel has mounted.
func keptImage() []*attempt {
	const image = writeDir + "/kept.image"
	return family(Files, attempt{}, []attempt{{
		name: "kept-image", about: "write to the image of a work folder that is kept, while it is mounted",
		refused: withoutMounts, refusalHolds: true,
		prepare: func(s *stage) {
			if s.level == "" {
				check(s.file(image, "an image"))
				return
			}
			_, err := exec.LookPath("mkfs.ext4")
			need("the maker of images", err)
		},
		change: func(s *stage, p *policy.Policy, _ *policy.Limits) {
			p.Work = policy.Work{Path: s.path(writeDir, "kept"), Size: folderSize, Inodes: folderInodes, Keep: true}
		},
		do: puts(image, "$mark", 0),
		judge: func(s *stage, r *trial) finding {
			return r.out(strings.Contains(s.read(image), s.mark), "it was written")
		},
	}})
}

// mappedSetUID is the attempt to change a program that gives its owner's rights to whoever runs it, without the kernel
// taking that from it.
func mappedSetUID() []*attempt {
	const name = writeDir + "/set-uid"
	return family(Privileges, attempt{}, []attempt{{
		name: "set-uid-shared-mapping", about: "change a set-uid file that was there, by a shared mapping",
		unpromised: "no call that a filter could refuse names the file's mode, and each start would have to look through whole grants",
		prepare: func(s *stage) {
			check(errors.Join(s.file(name, "harmless"), os.Chmod(s.path(name), 0o777|os.ModeSetuid)))
		},
		do: func(in *inside) error {
			f := must(unix.Open(in.path(name), unix.O_RDWR, 0))
			b := must(unix.Mmap(f, 0, len("harmless"), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))
			copy(b, "changed!")
			return errors.Join(unix.Msync(b, unix.MS_SYNC), unix.Munmap(b))
		},
		judge: func(s *stage, r *trial) finding {
			st, err := os.Stat(s.path(name))
			return r.out(err == nil && st.Mode()&os.ModeSetuid != 0 && s.read(name) != "harmless", "it has other contents")
		},
	}})
}
