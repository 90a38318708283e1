//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal of ours.
type terminal struct {
	master, slave int
	path          string
}

// terminal makes one, in raw mode, so that each byte of input is there at once.
func (s *stage) terminal() (*terminal, error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, missing("pseudo terminals: " + err.Error())
	}
	s.onClose(func() { unix.Close(m) })
	n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return nil, missing("pseudo terminals: " + err.Error())
	}
	t := &terminal{master: m, path: fmt.Sprintf("/dev/pts/%d", n)}
	t.slave, err = unix.Open(t.path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, missing("pseudo terminals: " + err.Error())
	}
	s.onClose(func() { unix.Close(t.slave) })
	_ = os.Chmod(t.path, 0o666)
	mode, err := unix.IoctlGetTermios(t.slave, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	mode.Lflag &^= unix.ICANON | unix.ECHO
	if err := unix.IoctlSetTermios(t.slave, unix.TCSETS, mode); err != nil {
		return nil, err
	}
	s.vars["terminal"] = t
	return t, nil
}

func (s *stage) theTerminal() *terminal { return s.vars["terminal"].(*terminal) }

// shown is what came out on the terminal.
func (t *terminal) shown() string { return drain(t.master) }

// typed is what waits to be read as if a person had typed it.
func (t *terminal) typed() string { return drain(t.slave) }

func drain(fd int) string {
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil || n <= 0 {
		return ""
	}
	return string(b[:n])
}

// terminals are attempts on a terminal that the process was given, or that its
// supervisor sits at.
func terminals() []*attempt {
	const given = 3
	hand := func(s *stage) error {
		t := must(s.terminal())
		fd := must(unix.Open(t.path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
		f := os.NewFile(uintptr(fd), t.path)
		s.onClose(func() { f.Close() })
		s.extra, s.ctty = []*os.File{f}, true
		return token(s)
	}
	var list []*attempt
	types := func(name, about string, do func() error) {
		list = append(list, &attempt{
			class: Terminal, name: name, about: about, prepare: hand, do: func(*inside) error { return do() },
			judge: func(s *stage, r *run1) finding {
				if typed := s.theTerminal().typed(); typed != "" {
					return escaped("the terminal's next reader gets %q", typed)
				}
				return held("%s", r.how())
			},
		})
	}
	push := func(cmd uintptr) error {
		c := byte('x')
		return ioctl(given, cmd, &c)
	}
	types("inject", "push a character into a terminal's input", func() error { return push(unix.TIOCSTI) })
	types("inject-high-bits", "the same, with bits in the command that the kernel does not look at",
		func() error { return push(unix.TIOCSTI | 1<<40) })
	types("inject-own", "make the terminal one's own first", func() error {
		// Both may fail: it leads a session already, or the terminal is its own.
		_, _ = unix.Setsid()
		_ = unix.IoctlSetInt(given, unix.TIOCSCTTY, 0)
		return push(unix.TIOCSTI)
	})
	list = append(list, &attempt{
		class: Terminal, name: "controlling", about: "write to the terminal that the supervisor sits at, as /dev/tty",
		prepare: hand,
		do:      func(in *inside) error { return put("/dev/tty", in.get("token"), 0) },
		judge: func(s *stage, r *run1) finding {
			if shown := s.theTerminal().shown(); shown != "" {
				return escaped("it shows %q", shown)
			}
			return held("%s", r.how())
		},
	}, &attempt{
		class: Terminal, name: "foreground", about: "make itself the terminal's foreground",
		prepare: hand,
		do:      func(*inside) error { return unix.IoctlSetPointerInt(given, unix.TIOCSPGRP, unix.Getpgrp()) },
	})
	return list
}
