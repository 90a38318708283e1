package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// frames cancels ctx when something was written to it often enough.
type frames struct {
	bytes.Buffer
	left int
	stop context.CancelFunc
	end  string // of a frame
}

func (f *frames) Write(b []byte) (int, error) {
	n, err := f.Buffer.Write(b)
	if strings.Count(f.String(), f.end) >= f.left {
		f.stop()
	}
	return n, err
}

// watched returns the output and the exit code of status --watch, which is interrupted
// after some frames.
func watched(t *testing.T, end string, args ...string) (string, int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := &frames{left: 3, stop: stop, end: end}
	code := newApp(nil, f, io.Discard).main(ctx, append([]string{"status", "--watch=1ms"}, args...))
	return f.String(), code
}

func TestWatchPrintsTheStatusUntilItIsInterrupted(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	if got, code := watched(t, "\n\n2"); code != exitDone || strings.Count(got, "NAME ") < 3 || strings.Contains(got, "\x1b") {
		t.Errorf("exit %d:\n%s", code, got)
	}
	got, code := watched(t, "}\n", "--json", "--check")
	if code != exitFailed {
		t.Errorf("exit %d, and a host has failed", code)
	}
	for line := range strings.Lines(got) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no document on a line: %s", line)
		}
	}
	for _, wrong := range [][]string{{"status", "--watch=-1s"}, {"status", "ts", "--watch", "--pid"}} {
		if code := newApp(nil, io.Discard, io.Discard).main(t.Context(), wrong); code != exitUsage {
			t.Errorf("%v: exit %d", wrong, code)
		}
	}
}

func TestWatchRedrawsATerminal(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	t.Setenv("TERM", "xterm")
	other, tty := terminal(t, 80)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code := make(chan int)
	go func() { code <- newApp(nil, tty, io.Discard).main(ctx, []string{"status", "--watch=1ms"}) }()
	var got []byte
	for buf := make([]byte, 4096); bytes.Count(got, []byte("\x1b[J")) < 3; {
		n, err := other.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, other) }()
	if c := <-code; c != exitDone {
		t.Errorf("exit %d", c)
	}
	if text := string(got); strings.Count(text, "\x1b[H") < 3 || strings.Count(text, "NAME") < 3 {
		t.Errorf("%q", text)
	}
}

// What has more lines than the terminal is cut, so that nothing scrolls.
func TestRedrawFitsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		text   string
		height int
		want   string
	}{
		{"a\nb\n", 3, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		{"a\nb\nc\n", 3, "\x1b[Ha\x1b[K\n… 2 more lines\x1b[K\n\x1b[J"},
		{"a\nb\n", 1, "\x1b[H… 2 more lines\x1b[K\n\x1b[J"},
	} {
		if got := redraw(c.text, c.height); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.height, got, c.want)
		}
	}
}
