package sys

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Streams of both ends of a pipe and of a socket carry each byte and the end, and others that use
// them see no other flags.
func TestStreamOf(t *testing.T) {
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	for name, fds := range map[string][2]int{"pipe": pipe, "socket": sockets} {
		r, w := os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)
		in, err := StreamOf(r, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := StreamOf(w, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, fd := range fds {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("%s: flags %o, %v", name, flags, err)
			}
		}
		if err := errors.Join(r.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if n, ok := in.TryRead(make([]byte, 1)); ok || n != 0 {
			t.Errorf("%s: %d bytes of none", name, n)
		}
		want := strings.Repeat("0123456789abcdef", 1<<16)
		sent := make(chan error, 1)
		go func() {
			n, err := out.TryWrite([]byte(want))
			if err == nil {
				_, err = io.WriteString(out, want[n:])
			}
			sent <- errors.Join(err, out.Close())
		}()
		if got, err := io.ReadAll(in); string(got) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := errors.Join(<-sent, in.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestStreamEndsWithClose(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	s, err := StreamOf(theirs, false)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		ended <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// What is no stream, or the other end of one, is refused.
func TestStreamOfRefuses(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	datagrams, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(datagrams[1])
	datagram := os.NewFile(uintptr(datagrams[0]), "datagram")
	defer datagram.Close()
	for _, c := range []struct {
		f     *os.File
		write bool
		want  error
	}{{r, true, unix.EBADF}, {w, false, unix.EBADF}, {null, false, ErrUnsupported}, {datagram, false, ErrUnsupported}} {
		if _, err := StreamOf(c.f, c.write); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.f.Name(), err)
		}
	}
}
