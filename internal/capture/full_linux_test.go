package capture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

// A real file system is full, and later has room again.
func TestRealFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		require.Privilege(t, "the right to mount a tmpfs: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	reported := make(chan error, 10)
	l := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: 1 << 20}, OnError: func(err error) { reported <- err }})
	r, w := pipe(t)
	c := l.Capture(r, Stdout, 1)
	const lines = 10000
	for range lines {
		if _, err := w.WriteString(strings.Repeat("x", 99) + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all lines", func() bool { return l.Lines() == lines })
	if err := <-reported; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("reported %v", err)
	}
	if len(l.Tail(200)) != 200 {
		t.Error("memory lost lines to a full disk")
	}
	l.wmu.Lock()
	dropped := l.sink.lostLines
	l.sink.retryAt = time.Time{}
	l.wmu.Unlock()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("room again\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	wait(t, c.Done(), "end of the stream")
	if n := l.Stats().LostLines; n != dropped || n == 0 {
		t.Errorf("%d lines dropped, then %d", dropped, n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.cur = nil
	got, err := l.History(2 * lines)
	if err != nil {
		t.Fatal(err)
	}
	if want := lines - int(dropped) + 2; len(got) != want {
		t.Fatalf("%d lines in the file, want %d", len(got), want)
	}
	for i, ln := range got {
		switch i {
		case len(got) - 2:
			if ln.Stream != Note || !strings.Contains(ln.Text, "missing here: ") {
				t.Errorf("in place of the note: %+v", ln)
			}
		case len(got) - 1:
			if ln.Text != "room again" {
				t.Errorf("the last line: %+v", ln)
			}
		default:
			if ln.Text != strings.Repeat("x", 99) {
				t.Fatalf("line %d is torn: %+v", i, ln)
			}
		}
	}
}
