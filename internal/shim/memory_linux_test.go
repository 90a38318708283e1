//go:build !hostsup_posix

package shim

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/shim/process"
	"github.com/hostsup/hostsup/internal/sys"
)

// mostMemory bounds the private memory of a shim, in KiB, while messages fit into its
// windows.
const mostMemory = 300

// private returns the private memory of a process in KiB.
func private(t *testing.T, pid int) (sum int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(b, []byte("\nPrivate_"))[1:] {
		_, figure, _ := bytes.Cut(line, []byte(":"))
		n := 0
		if _, err := fmt.Sscan(string(figure), &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestShimIsSmall measures a shim whose windows are full in both directions, without a
// client, under load, and after messages that did not fit into its windows.
func TestShimIsSmall(t *testing.T) {
	if !sys.CanRest {
		t.Skip("the Go runtime stays in the shims of a program with cgo")
	}
	c := shell(t, `while :; do echo "a line of the error output"; done >&2 & exec cat`)
	pid := c.Record().Shim.PID
	filled := make(chan struct{})
	go func() { // ends with the connection
		defer close(filled)
		for c.Send(make([]byte, 1000)) == nil {
		}
	}()
	small := func(when string) {
		t.Helper()
		worst := 0
		for range 50 {
			worst = max(worst, private(t, pid))
		}
		if worst > mostMemory {
			t.Errorf("%s: %d KiB of private memory, limit %d", when, worst, mostMemory)
		}
		t.Logf("%s: %d KiB of private memory", when, worst)
	}
	full := func() bool {
		for i, s := range []*Stream{c.Stdout(), c.Stderr()} {
			c.mu.Lock()
			n := s.end - s.acked
			c.mu.Unlock()
			if n < uint64(process.Window[1+i]) {
				return false
			}
		}
		return true
	}
	poll.Until(t, 20*time.Second, "the windows are full", full)
	// The threads of the Go runtime end after the command has started, and then its memory.
	poll.Until(t, 20*time.Second, "the shim has released what it does not need", func() bool { return private(t, pid) <= mostMemory })
	small("full")
	c.Close()
	<-filled
	small("without a client")

	next := reopen(t, c.folder)
	defer next.Close()
	for _, s := range []*Stream{next.Stdout(), next.Stderr()} {
		go func() { // ends with the connection
			b := make([]byte, 64<<10)
			for at := s.From(); ; {
				n, err := s.Read(b)
				if at += uint64(n); err != nil || s.Ack(at) != nil {
					return
				}
			}
		}()
	}
	for range 20_000 {
		if err := next.Send(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	small("under load")
	if err := next.Send(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := next.Send(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, 20*time.Second, "the memory of a long message is released", func() bool { return private(t, pid) <= mostMemory })
	small("after a message of 8 MiB")
}

// TestLongOutput has a message of 8 MiB wait for its acknowledgement.
func TestLongOutput(t *testing.T) {
	const size = 8 << 20
	c := shell(t, `head -c 8388608 /dev/zero; echo; read line; echo "$line"`)
	b := make([]byte, size+1)
	if _, err := io.ReadFull(c.Stdout(), b); err != nil {
		t.Fatal(err)
	}
	pid := c.Record().Shim.PID
	if sys.CanRest && private(t, pid) < size>>10 {
		t.Errorf("%d KiB of memory for a message of %d KiB that is not acknowledged", private(t, pid), size>>10)
	}
	c.Close()
	next := reopen(t, c.folder)
	defer next.Close()
	again := make([]byte, size+1)
	if _, err := io.ReadFull(next.Stdout(), again); err != nil || !bytes.Equal(b, again) {
		t.Errorf("the next client got another message (%v)", err)
	}
	if err := next.Stdout().Ack(size + 1); err != nil {
		t.Error(err)
	}
	if err := next.Send([]byte("short\n")); err != nil {
		t.Error(err)
	}
	if n, err := io.ReadFull(next.Stdout(), b[:6]); string(b[:n]) != "short\n" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	if sys.CanRest && private(t, pid) > mostMemory {
		t.Errorf("%d KiB of private memory afterwards, limit %d", private(t, pid), mostMemory)
	}
}
