//go:build !hostsup_posix

package shim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
)

// Where a client finds its shim and keeps what it has done.
const (
	folderTest = "HOSTSUP_SHIM_TEST_FOLDER"
	outputTest = "HOSTSUP_SHIM_TEST_OUTPUT"
)

// beStarter starts the command, and goes on as its first client.
func beStarter() error {
	c, err := Start(Options{
		Folder: os.Getenv(folderTest), Name: "traffic", Path: os.Args[0], Args: []string{os.Args[0]},
		Env: []string{roleVar + "=command"}, Survive: true, Most: 1 << 20,
	})
	if err != nil {
		return err
	}
	return exchange(c)
}

// beClient takes the place of a client that was killed.
func beClient() error {
	var c *Conn
	var err error
	if !poll.Within(20*time.Second, func() bool {
		c, err = Open(os.Getenv(folderTest))
		return !errors.Is(err, ErrBusy) // the shim has not seen the end of the one before
	}) || err != nil {
		return err
	}
	return exchange(c)
}

// exchange sends what the command has not been sent and takes what it has said, and adds
// both outputs to files, at their offsets. A file has all that was acknowledged.
func exchange(c *Conn) error {
	defer c.Close()
	fmt.Println("connected")
	var all sync.WaitGroup
	errs := make(chan error, 3)
	for _, part := range []func(*Conn) error{sendRest, takeRest, takeErrors} {
		all.Go(func() {
			err := part(c)
			if err != nil {
				c.Close() // ends the other parts
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs { // the first one is the reason
		if err != nil {
			return err
		}
	}
	<-c.Exited()
	fmt.Println("done")
	return nil
}

func sendRest(c *Conn) error {
	i, err := frameAt(c.Input())
	if err != nil {
		return fmt.Errorf("the command was given a part of a message: %w", err)
	}
	for n := 1; i < frames; i, n = i+1, n+1 {
		if err := c.Send(frame(i)); err != nil {
			return err
		}
		if n%(frames/600) == 0 {
			fmt.Println("sent")
		}
	}
	return c.CloseInput()
}

// keep opens a file for a stream, which has at least what was acknowledged.
func keep(s *Stream, name string) (*os.File, error) {
	f, err := os.OpenFile(os.Getenv(outputTest)+name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || uint64(st.Size()) < s.From() {
		return nil, errors.Join(fmt.Errorf("%d bytes are kept of %s, but the shim has it from %d on only", st.Size(), name, s.From()), err)
	}
	return f, nil
}

func takeRest(c *Conn) error {
	s := c.Stdout()
	f, err := keep(s, "out")
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := frameAt(s.From())
	if err != nil {
		return fmt.Errorf("what is not acknowledged begins with a part of a message: %w", err)
	}
	at := s.From()
	return readFrames(s, i, func(_ int, b []byte) error {
		if _, err := f.WriteAt(b, int64(at)); err != nil {
			return err
		}
		at += uint64(len(b))
		return s.Ack(at)
	})
}

func takeErrors(c *Conn) error {
	s := c.Stderr()
	f, err := keep(s, "err")
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 100)
	for at := s.From(); ; {
		n, err := s.Read(b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(b[:n], int64(at)); err != nil {
			return err
		}
		at += uint64(n)
		if err := s.Ack(at); err != nil {
			return err
		}
	}
}

// TestKilledClientsLoseNothing kills clients of a shim in the middle of their traffic, and now
// and then at a moment of their start.
func TestKilledClientsLoseNothing(t *testing.T) {
	dir := t.TempDir()
	folder, output := filepath.Join(dir, "shim"), filepath.Join(dir, "kept-")
	role, kills := "starter", 0
	for n, done := 0, false; !done; n++ {
		if _, err := os.Stat(filepath.Join(folder, RecordFile)); err != nil {
			role = "starter"
		}
		victim := client{role: role, folder: folder, output: output, temp: dir}
		switch {
		case kills == 60: // the next one does all that is left
		case n%4 == 0:
			victim.start = time.Duration(1 + rand.Int64N(int64(20*time.Millisecond)))
		default:
			victim.sent = 1 + rand.IntN(6)
		}
		var sent bool
		done, sent = victim.run(t)
		if !done && sent {
			kills++
		}
		role = "client"
	}
	t.Logf("%d clients were killed in the middle", kills)
	if kills < 20 {
		t.Errorf("only %d clients were killed in the middle", kills)
	}
	c, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Gone()
	if e := c.Exit(); e.Code != 7 {
		t.Errorf("the command ended with %+v, expected code 7", e)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Error(err)
	}
	said, err := os.ReadFile(output + "err")
	var want strings.Builder
	for n := 1000; n <= frames; n += 1000 {
		fmt.Fprintf(&want, "read %d\n", n)
	}
	if err != nil || string(said) != want.String() {
		t.Errorf("on stderr: %v, %.200q", err, said)
	}
	out, err := os.Open(output + "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := readFrames(bufio.NewReader(out), 0, func(int, []byte) error { return nil }); err != nil {
		t.Errorf("on stdout: %v", err)
	}
}

// client is a process that exchanges messages by a shim, and when it is killed.
type client struct {
	role, folder, output, temp string

	start time.Duration // after its start, before its record is written, too; 0: not then
	sent  int           // when it has sent so many times a 600th of the messages; 0: not then
}

// run runs a client until it is done or killed; it reports which, and whether it had sent
// messages.
func (c client) run(t *testing.T) (done, sent bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+c.role, folderTest+"="+c.folder, outputTest+"="+c.output, "TMPDIR="+c.temp)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Signal(syscall.SIGKILL) }
	if c.start > 0 {
		defer time.AfterFunc(c.start, kill).Stop()
	}
	n, last := 0, ""
	for lines := bufio.NewScanner(out); lines.Scan(); { // ends with the process
		last = lines.Text()
		if last == "sent" {
			if n++; n == c.sent {
				kill()
			}
		}
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		if c.role == "starter" {
			awaitStart(t, c.folder)
		}
		return false, n > 0
	}
	if err != nil || last != "done" {
		t.Fatalf("a %s: %v, it said %q at last, and %s", c.role, err, last, said.String())
	}
	return true, true
}

// awaitStart waits until a client can connect to what a starter that was killed has left;
// or until no process is left of it, and removes the folder then.
func awaitStart(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); err != nil {
		return
	}
	poll.Until(t, 20*time.Second, "a shim without a client ends or can be connected to", func() bool {
		c, err := Open(folder)
		if err == nil {
			return c.Close() == nil
		}
		return errors.Is(err, ErrGone) && Remove(folder) == nil
	})
}
