//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// devices are attempts on device files: made oneself, those of the disk and a terminal, and those by which the kernel
// hands out its own powers. What is opened is not written to, and read for a few bytes at most.
func devices() []*attempt {
	readsSome := func(name string) func(*inside) error {
		return func(in *inside) error { return errOf(in.open(name, os.O_RDONLY).Read(make([]byte, 16))) }
	}
	makes := func(kind uint32) func(*inside) error {
		return func(in *inside) error {
			check(unix.Mknod(in.path("write/device"), kind|0o666, in.num("number")))
			return readsSome("write/device")(in)
		}
	}
	const noDisk = "a block device below the folder for temporary files"
	// needDisk finds the number of the disk that the stage lies on.
	needDisk := func(s *stage) {
		var st unix.Stat_t
		needs(unix.Stat(s.dir, &st) == nil && unix.Major(st.Dev) != 0, noDisk)
		s.set("number", int(st.Dev))
	}
	list := family(Devices, attempt{}, []attempt{
		{name: "make-character", about: "make a device file in the granted folder and read from it",
			prepare: func(s *stage) {
				s.set("number", int(unix.Mkdev(1, 5))) // /dev/zero
			},
			do: makes(unix.S_IFCHR)},
		{name: "make-block", about: "make a device file for the disk in the granted folder and read from it",
			prepare: needDisk, do: makes(unix.S_IFBLK)},
		{name: "open-disk", about: "read from the disk", do: readsSome("$disk"), prepare: func(s *stage) {
			needDisk(s)
			entries, _ := os.ReadDir("/dev")
			for _, e := range entries {
				var st unix.Stat_t
				if unix.Stat("/dev/"+e.Name(), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK && int(st.Rdev) == s.num("number") {
					s.set("disk", "/dev/"+e.Name())
				}
			}
			needs(s.params["disk"] != "", noDisk)
		}},
		{name: "open-terminal", about: "write to another process's terminal by its path", prepare: needTerminal,
			do: puts("$terminal", "$token", unix.O_NOCTTY),
			judge: func(s *stage, r *trial) finding {
				shown := s.terminal.shown()
				return r.out(strings.Contains(shown, s.token), "it shows %q", shown)
			}},
	})
	for _, d := range []struct{ name, path, about string }{
		{"open-kernel-log", "/dev/kmsg", "open the kernel's log"},
		{"open-memory", "/dev/mem", "open the machine's memory"},
		{"open-console", "/dev/console", "open the console"},
		{"open-tun", "/dev/net/tun", "open the maker of network devices"},
		{"open-fuse", "/dev/fuse", "open the door for file systems of one's own"},
		{"open-kvm", "/dev/kvm", "open the maker of virtual machines"},
		{"open-loop", "/dev/loop-control", "open the maker of loop devices"},
		{"open-userfaultfd", "/dev/userfaultfd", "open the maker of user fault handlers"},
	} {
		list = slices.Concat(list, family(Devices, attempt{}, []attempt{{
			name: d.name, about: d.about, prepare: needPath(d.path), do: func(in *inside) error {
				err := opens(d.path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY)(in)
				if err != nil {
					err = opens(d.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)(in)
				}
				return err
			},
		}}))
	}
	return list
}

// terminal is a pseudo terminal of ours.
type terminal struct {
	master, slave int
	path          string
}

// needTerminal is a prepare that makes one, in raw mode, so that each byte of input is there at once.
func needTerminal(s *stage) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NONBLOCK
	const what = "pseudo terminals"
	m, err := unix.Open("/dev/ptmx", flags, 0)
	need(what, err)
	s.onClose(func() { unix.Close(m) })
	n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
	need(what, err)
	need(what, unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
	t := &terminal{master: m, path: fmt.Sprintf("/dev/pts/%d", n)}
	t.slave, err = unix.Open(t.path, flags, 0)
	need(what, err)
	s.onClose(func() { unix.Close(t.slave) })
	_ = os.Chmod(t.path, 0o666)
	mode := must(unix.IoctlGetTermios(t.slave, unix.TCGETS))
	mode.Lflag &^= unix.ICANON | unix.ECHO
	check(unix.IoctlSetTermios(t.slave, unix.TCSETS, mode))
	s.terminal = t
	s.set("terminal", t.path)
}

// shown is what came out on the terminal.
func (t *terminal) shown() string { return drain(t.master) }

// drain is what waits to be read: on a terminal's slave, as if a person had typed it.
func drain(fd int) string {
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil || n <= 0 {
		return ""
	}
	return string(b[:n])
}

// terminals are attempts on a terminal that the process was given, or that its supervisor sits at. Pushing input into
// one has let programs out of su, and out of bubblewrap and Flatpak (CVE-2017-5226); with bits in the upper half of the
// command it got past filters too (CVE-2019-10063).
func terminals() []*attempt {
	const given = 3
	push := func(cmd uintptr) error {
		c := byte('x')
		return call(unix.SYS_IOCTL, given, cmd, uintptr(unsafe.Pointer(&c)))
	}
	common := attempt{
		prepare: func(s *stage) {
			needTerminal(s)
			fd := must(unix.Open(s.terminal.path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
			f := os.NewFile(uintptr(fd), s.terminal.path)
			s.onClose(func() { f.Close() })
			s.extra, s.ctty = []*os.File{f}, true
		},
		judge: func(s *stage, r *trial) finding {
			typed := drain(s.terminal.slave)
			return r.out(typed != "", "the terminal's next reader gets %q", typed)
		},
	}
	list := family(Terminal, common, []attempt{
		{name: "inject", about: "push a character into a terminal's input",
			do: func(*inside) error { return push(unix.TIOCSTI) }},
		{name: "inject-high-bits", about: "the same, with bits in the command that the kernel does not look at",
			do: func(*inside) error { return push(unix.TIOCSTI | 1<<40) }},
		{name: "inject-own", about: "make the terminal one's own first", do: func(*inside) error {
			// Both may fail: it leads a session already, or the terminal is its own.
			_, _ = unix.Setsid()
			_ = unix.IoctlSetInt(given, unix.TIOCSCTTY, 0)
			return push(unix.TIOCSTI)
		}},
		{name: "controlling", about: "write to the terminal that the supervisor sits at, as /dev/tty",
			do: puts("/dev/tty", "$token", 0),
			judge: func(s *stage, r *trial) finding {
				shown := s.terminal.shown()
				return r.out(shown != "", "it shows %q", shown)
			}},
	})
	return append(list, family(Terminal, attempt{prepare: common.prepare}, []attempt{
		{name: "foreground", about: "make itself the terminal's foreground",
			do: func(*inside) error { return unix.IoctlSetPointerInt(given, unix.TIOCSPGRP, unix.Getpgrp()) }},
	})...)
}
