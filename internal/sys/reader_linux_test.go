//go:build !hostsup_posix

package sys

import (
	"os"
	"testing"
	"time"
)

func TestReaderGone(t *testing.T) {
	pipe := func() (ours, theirs *os.File) {
		ours, theirs, err := ChildPipe(false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ours.Close() })
		return ours, theirs
	}
	gone := make(chan string, 2)
	w, r := pipe()
	defer OnReaderGone(w, func() { gone <- "first" }).Close()
	stopped, other := pipe()
	OnReaderGone(stopped, func() { gone <- "stopped" }).Close()
	if _, err := w.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	other.Close()
	last, second := pipe()
	defer OnReaderGone(last, func() { gone <- "second" }).Close()
	for _, c := range []struct {
		file *os.File
		name string
	}{{r, "first"}, {second, "second"}} {
		c.file.Close()
		select {
		case got := <-gone:
			if got != c.name {
				t.Errorf("told of the pipe %q", got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("not told of the pipe %q", c.name)
		}
	}
}
