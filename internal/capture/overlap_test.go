package capture

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// slow is a file whose writes wait to be let through one by one.
type slow struct {
	file
	let     chan error
	written bytes.Buffer
}

func (f *slow) Write(b []byte) (int, error) {
	if err := <-f.let; err != nil {
		return 0, err
	}
	return f.written.Write(b)
}

func (*slow) Truncate(int64) error { return nil }
func (*slow) Close() error         { return nil }

// block is a read of many lines, enough for a write of its own.
func block(c string) []byte {
	return []byte(strings.Repeat(strings.Repeat(c, 99)+"\n", 2*minOverlap/100))
}

// A large write goes on beside the next read; what comes after waits for it
// and is behind it in the file.
func TestOverlappedWrite(t *testing.T) {
	f := &slow{let: make(chan error)}
	l := New(Options{Dir: t.TempDir(), Name: "x"})
	l.sink.openFile = func(string) (file, int64, error) { return f, 0, nil }
	first, second := block("a"), block("b")
	if n := l.take(first, 0, false, Stdout, 1); n != len(first) { // does not wait for the file
		t.Fatalf("took %d bytes of %d", n, len(first))
	}
	if got := l.Tail(1); len(got) != 1 || !strings.HasPrefix(got[0].Text, "aaa") {
		t.Errorf("in memory: %v", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.take(second, 0, false, Stdout, 1)
		l.Note(1, "note")
	}()
	for range 3 {
		select {
		case <-done:
			t.Error("a note was taken for written before it was")
		case f.let <- nil:
		}
	}
	wait(t, done, "the note")
	var order strings.Builder
	for line := range strings.Lines(f.written.String()) {
		order.WriteByte(line[len(line)-2])
	}
	if want := strings.Repeat("a", len(first)/100) + strings.Repeat("b", len(second)/100) + "e"; order.String() != want {
		t.Errorf("%d lines in the file, want %d in order", order.Len(), len(want))
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := overlaps.Load(); n != 0 {
		t.Errorf("%d writes still count", n)
	}
}

// The failure of such a write is told and counted like any other, at the
// latest when the host falls silent.
func TestOverlappedFailure(t *testing.T) {
	broken := errors.New("broken")
	f := &slow{let: make(chan error, 1)}
	var told []error
	l := New(Options{Dir: t.TempDir(), Name: "x", OnError: func(err error) { told = append(told, err) }})
	l.sink.openFile = func(string) (file, int64, error) { return f, 0, nil }
	f.let <- broken
	b := block("a")
	l.take(b, 0, false, Stdout, 1)
	l.settle()
	l.settle()
	if len(told) != 1 || !errors.Is(told[0], broken) {
		t.Errorf("told %v", told)
	}
	if lines, _ := l.Dropped(); lines != uint64(len(b)/100) {
		t.Errorf("%d lines dropped, want %d", lines, len(b)/100)
	}
	f.let <- nil // the note of what is missing
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(f.written.String(), "are missing here: broken") {
		t.Errorf("no note: %q", f.written.String())
	}
}
