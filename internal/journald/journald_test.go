//go:build unix

package journald

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func listen(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 1<<20)
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// outcomes counts what a sender's entries came to.
type outcomes struct {
	mu         sync.Mutex
	sent, lost int
	cause      error
}

func (o *outcomes) report(_ int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.lost++
		o.cause = err
		return
	}
	o.sent++
}

func (o *outcomes) get() (sent, lost int, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent, o.lost, o.cause
}

func TestEntriesArrive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	journal := listen(t, path)
	c := New(path)
	var o outcomes
	s := c.Sender(o.report)
	long := strings.Repeat("x", MaxMessage+1)
	for _, m := range []string{"one", "two\nlines", long} {
		if err := s.Send(Info, m, Field{"HOST", "ts"}, Field{"LIFE", "7"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"PRIORITY=6\nMESSAGE=one\nHOST=ts\nLIFE=7\n",
		"PRIORITY=6\nMESSAGE\n\x09\x00\x00\x00\x00\x00\x00\x00two\nlines\nHOST=ts\nLIFE=7\n",
		"PRIORITY=6\nMESSAGE=" + long[:MaxMessage] + "\nHOST=ts\nLIFE=7\n",
	} {
		if got := receive(t, journal); got != want {
			t.Errorf("got %.100q, want %.100q", got, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if sent, lost, _ := o.get(); sent != 3 || lost != 0 {
		t.Errorf("%d sent, %d lost", sent, lost)
	}
	if err := s.Send(Info, "late"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A journal that does not read blocks nobody: a sender has room for so much, others have
// room beside it, and Close ends with every entry accounted for.
func TestJournalThatDoesNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	listen(t, path)
	c := New(path)
	var fast, slow outcomes
	s, other := c.Sender(fast.report), c.Sender(slow.report)
	taken, refused := 0, 0
	for range 4000 {
		switch err := s.Send(Info, strings.Repeat("x", 1000)); {
		case err == nil:
			taken++
		case errors.Is(err, ErrFull):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if refused == 0 || taken < maxSenderWaiting/1100 {
		t.Errorf("%d entries taken, %d refused", taken, refused)
	}
	if err := other.Send(Info, "a line"); err != nil {
		t.Errorf("another sender: %v", err)
	}
	_ = c.Close() // the socket works; nobody reads it
	sent, lost, cause := fast.get()
	if sent+lost != taken || lost == 0 || !errors.Is(cause, os.ErrDeadlineExceeded) && cause == nil {
		t.Errorf("of %d entries %d were sent and %d lost (%v)", taken, sent, lost, cause)
	}
	if sent, lost, _ := slow.get(); sent+lost != 1 {
		t.Errorf("the other: %d sent, %d lost", sent, lost)
	}
}

// Without a journal entries are lost, one attempt a second is made, and the next journal
// is found.
func TestJournalComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	c := New(path)
	defer c.Close()
	var o outcomes
	s := c.Sender(o.report)
	if err := s.Send(Info, "nobody is there"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, 30*time.Second, "a loss", func() bool {
		_, lost, cause := o.get()
		return lost == 1 && errors.Is(cause, os.ErrNotExist)
	})
	if err := s.Send(Info, "at once"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("at once after a failure: %v", err)
	}
	for i := range 2 {
		journal := listen(t, path)
		poll.Until(t, 30*time.Second, "the journal", func() bool { return s.Send(Info, fmt.Sprint("here ", i)) == nil })
		if got, want := receive(t, journal), fmt.Sprintf("PRIORITY=6\nMESSAGE=here %d\n", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		_ = journal.Close()
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}
