//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sent are attempts with the descriptor of a folder that a process outside sends
// over a socket, which no filter sees.
func sent() []*attempt {
	prepare := func(s *stage) error {
		pair := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		theirs := os.NewFile(uintptr(pair[1]), "socket")
		s.onClose(func() { unix.Close(pair[0]); theirs.Close() })
		s.extra = append(s.extra, theirs)
		s.vars["before"] = inode("outside/secret")(s)
		s.vars["ours"] = pair[0]
		return nil
	}
	watch := func(s *stage, _ *run1) {
		dir, err := unix.Open(s.path(outsideDir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Sendmsg(s.vars["ours"].(int), []byte("x"), unix.UnixRights(dir), nil, unix.MSG_NOSIGNAL)
			unix.Close(dir)
		}
	}
	receive := func(in *inside) (int, error) {
		in.pause()
		b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(3, b, oob, 0)
		if err != nil {
			return -1, err
		}
		list, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(list) == 0 {
			return -1, fmt.Errorf("no descriptor came: %w", errors.Join(err, os.ErrNotExist))
		}
		fds := must(unix.ParseUnixRights(&list[0]))
		return fds[0], nil
	}
	return []*attempt{{
		class: Files, name: "sent-folder-read", about: "read a file in a folder whose descriptor a process outside sends",
		prepare: prepare, watch: watch, judge: unseen,
		do: func(in *inside) error {
			dir := must(receive(in))
			f := must(unix.Openat(dir, "secret", unix.O_RDONLY, 0))
			return in.sayFrom(os.NewFile(uintptr(f), "secret"))
		},
	}, {
		class: Files, name: "sent-folder-write", about: "make, remove and rename files in such a folder",
		prepare: prepare, watch: watch,
		do: func(in *inside) error {
			dir := must(receive(in))
			_, err := unix.Openat(dir, "new", unix.O_CREAT|unix.O_WRONLY, 0o644)
			return errors.Join(err, unix.Mkdirat(dir, "folder", 0o755), unix.Renameat(dir, "secret", dir, "moved"), unix.Unlinkat(dir, "moved", 0))
		},
		judge: func(s *stage, r *run1) finding {
			list, err := os.ReadDir(s.path(outsideDir))
			if err != nil || len(list) != 1 || list[0].Name() != "secret" {
				return escaped("there is %v now, %v", list, err)
			}
			return held("%s", r.how())
		},
	}, {
		class: Files, name: "sent-folder-mode", about: "change the mode of a file in a folder whose descriptor a process outside sends",
		prepare: prepare, watch: watch,
		unpromised: "a filter does not see what comes with a message, and Landlock does not hold modes and times",
		do: func(in *inside) error {
			dir := must(receive(in))
			return unix.Fchmodat(dir, "secret", 0o640, 0)
		},
		judge: func(s *stage, r *run1) finding {
			if now := inode("outside/secret")(s); now != s.vars["before"] {
				return escaped("it was %s and is %s", s.vars["before"], now)
			}
			return held("%s", r.how())
		},
	}}
}

// mappedSetUID is the attempt to change a program that gives its owner's rights to
// whoever runs it, without the kernel taking that from it.
func mappedSetUID() *attempt {
	const name = writeDir + "/set-uid"
	return &attempt{
		class: Privileges, name: "set-uid-shared-mapping", about: "change a set-uid file that was there, by a shared mapping",
		unpromised: "no call that a filter could refuse names the file's mode, and each start would have to look through whole grants",
		prepare: func(s *stage) error {
			return errors.Join(s.file(name, "harmless"), os.Chmod(s.path(name), 0o777|os.ModeSetuid))
		},
		do: func(in *inside) error {
			f := must(unix.Open(in.get("write")+"/set-uid", unix.O_RDWR, 0))
			b := must(unix.Mmap(f, 0, len("harmless"), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))
			copy(b, "changed!")
			return errors.Join(unix.Msync(b, unix.MS_SYNC), unix.Munmap(b))
		},
		judge: func(s *stage, r *run1) finding {
			st, err := os.Stat(s.path(name))
			if err == nil && st.Mode()&os.ModeSetuid != 0 && s.read(name) != "harmless" {
				return escaped("it is %s with other contents", st.Mode())
			}
			return held("%s", r.how())
		},
	}
}
