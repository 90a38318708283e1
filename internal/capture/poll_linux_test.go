//go:build !hostsup_posix

package capture

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// readers counts the goroutines that read pipes.
func readers(buf []byte) int {
	return bytes.Count(buf[:runtime.Stack(buf, true)], []byte("created by github.com/hostsup/hostsup/internal/capture.(*Capture)"))
}

// A stream has a goroutine only while there is something to read.
func TestSilentHasNoGoroutine(t *testing.T) {
	buf := make([]byte, 1<<20)
	l := New(Options{})
	var captures []*Capture
	var ends []*os.File
	for range 50 {
		r, w := pipe(t)
		captures = append(captures, l.Capture(r, Stdout, 1))
		ends = append(ends, w)
	}
	if n := readers(buf); n != 0 {
		t.Errorf("%d goroutines for silent streams", n)
	}
	for _, w := range ends {
		if _, err := w.WriteString("awake\n"); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all lines", func() bool { return l.Lines() == uint64(len(ends)) })
	until(t, "no goroutine is left", func() bool { return readers(buf) == 0 })
	for i, c := range captures {
		if i%2 == 0 {
			ends[i].Close()
		} else {
			c.Stop()
		}
		wait(t, c.Done(), "end")
		if c.Err() != nil {
			t.Error(c.Err())
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Streams that fall silent after every few lines, many at once, lose nothing
// and keep their order, and some of them are stopped with lines in the pipe.
func TestOnAndOff(t *testing.T) {
	const streams, lines = 20, 2000
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			l := New(Options{Dir: dir, Name: fmt.Sprint("s", i)})
			r, w := pipe(t)
			c := l.Capture(r, Stdout, 1)
			for n := range lines {
				if _, err := fmt.Fprintf(w, "%d %s\n", n, strings.Repeat("x", n%(20*i+1))); err != nil {
					t.Error(err)
				}
				if n%(i+1) == 0 {
					runtime.Gosched()
				}
			}
			if i%2 == 0 {
				w.Close()
			} else {
				c.Stop()
			}
			wait(t, c.Done(), "end")
			if c.Err() != nil {
				t.Error(c.Err())
			}
			got, err := l.History(2 * lines)
			if err != nil || len(got) != lines {
				t.Errorf("%d lines, want %d: %v", len(got), lines, err)
			}
			for n, ln := range got {
				if !strings.HasPrefix(ln.Text, fmt.Sprintf("%d ", n)) || ln.Seq != uint64(n+1) {
					t.Errorf("line %d is %+v", n, ln)
					break
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Stop, the end of the stream and arrivals at the same moment end a capture
// once.
func TestStopRaces(t *testing.T) {
	l := New(Options{})
	for range 300 {
		r, w := pipe(t)
		c := l.Capture(r, Stdout, 1)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = w.WriteString("x\n") })
		wg.Go(c.Stop)
		wg.Go(func() { w.Close() })
		wait(t, c.Done(), "end")
		wg.Wait()
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// What cannot be polled is read by a goroutine.
func TestRegularFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("one\ntwo"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	l := New(Options{})
	c := l.Capture(f, Stdout, 1)
	wait(t, c.Done(), "end")
	if got := texts(l.Tail(9)); len(got) != 2 || got[0] != "one" || got[1] != "two" || c.Err() != nil {
		t.Errorf("got %q, %v", got, c.Err())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
