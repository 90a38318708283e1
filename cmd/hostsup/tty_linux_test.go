package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/hostsup/hostsup/internal/require"
)

// terminal opens a pseudo-terminal of some columns: what is written to tty is read
// from the other end.
func terminal(t *testing.T, columns uint16) (other, tty *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		require.Missing(t, "pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { other.Close() })
	ioctl := func(request uintptr, arg unsafe.Pointer) {
		t.Helper()
		c, err := other.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var errno syscall.Errno
		if err := c.Control(func(fd uintptr) { _, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)) }); err != nil || errno != 0 {
			t.Fatal(err, errno)
		}
	}
	var number, unlocked uint32
	ioctl(syscall.TIOCGPTN, unsafe.Pointer(&number))
	ioctl(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	size := [4]uint16{24, columns}
	ioctl(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return other, tty
}

// onTerminal returns the output of a command line on a terminal.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	other, tty := terminal(t, columns)
	var errout bytes.Buffer
	if code := newApp(nil, tty, &errout).main(t.Context(), args); code != exitDone {
		t.Fatalf("%v: exit %d, %s", args, code, errout.String())
	}
	if _, err := tty.WriteString("\x04END"); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for buf := make([]byte, 4096); !bytes.Contains(got, []byte("\x04END")); {
		n, err := other.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	text, _, _ := strings.Cut(string(got), "\x04END")
	return strings.ReplaceAll(text, "\r\n", "\n")
}

func TestTerminal(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")

	if got := onTerminal(t, 80, "status"); !strings.Contains(got, "\x1b[32mrunning\x1b[0m") || !strings.Contains(got, "\x1b[1;31mfailed\x1b[0m") {
		t.Errorf("no colour:\n%s", got)
	}
	if got := onTerminal(t, 80, "logs", "ts"); !strings.Contains(got, "\x1b[33merr\x1b[0m two\n") {
		t.Errorf("no streams in the log:\n%s", got)
	}
	if got := onTerminal(t, 80, "status", "--json"); strings.Contains(got, "\x1b") {
		t.Errorf("colour in JSON:\n%s", got)
	}
	t.Setenv("NO_COLOR", "1")
	got := onTerminal(t, 30, "status")
	if strings.Contains(got, "\x1b") {
		t.Errorf("colour in spite of NO_COLOR:\n%s", got)
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 30 {
			t.Errorf("%d columns of 30: %s", n, line)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if got := onTerminal(t, 80, "status"); strings.Contains(got, "\x1b") {
		t.Errorf("colour on a dumb terminal:\n%s", got)
	}
}
