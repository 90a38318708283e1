package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file that another program has moved away is opened again, at once also if nothing is
// printed, and no line is lost.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "x.log"), filepath.Join(dir, "moved")
	l := New(Options{Dir: dir, Name: "x"})
	say(l, 1, "one\n")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	say(l, 1, "two\n")
	l.Reopen()
	if l.sink.f != nil {
		t.Error("the moved file is still open")
	}
	say(l, 1, "three\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if a, b := content(t, moved), content(t, path); strings.Count(a, "\n") != 2 || !strings.HasSuffix(a, " two\n") || strings.Count(b, "\n") != 1 || !strings.HasSuffix(b, " three\n") {
		t.Errorf("%q and %q", a, b)
	}
}

// While a line is being written, which a slow disk may hold up, Reopen does not wait.
func TestReopenDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	l := New(Options{Dir: dir, Name: "x"})
	say(l, 1, "one\n")
	if err := os.Rename(filepath.Join(dir, "x.log"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	l.wmu.Lock()
	l.Reopen()
	open := l.sink.f
	l.wmu.Unlock()
	say(l, 1, "two\n")
	if open == nil || l.sink.f == open {
		t.Error("the file was not opened again before the next line")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A file that was not moved stays open, and its lines keep their numbers; one that was
// emptied in its place is noticed.
func TestReopenInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.log")
	l := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: 100}, Ring: 1})
	defer l.Close()
	say(l, 1, "one\ntwo\n")
	was := l.sink.f
	l.Reopen()
	if got, err := l.History(2); err != nil || l.sink.f != was || len(got) != 2 || got[0].Seq != 1 {
		t.Errorf("%v (%v)", got, err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	say(l, 1, "three\n")
	if got := content(t, path); strings.Count(got, "\n") != 1 || len(names(t, dir)) != 1 {
		t.Errorf("%q, files %v", got, names(t, dir))
	}
	if got, err := l.History(5); err != nil || len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("%v (%v)", got, err)
	}
}

func TestFileRotates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	path := filepath.Join(dir, "own.txt")
	f, err := OpenFile(path, FileOptions{Rules: Rules{MaxSize: 20, Files: 3}, Packer: Gzip{}})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	for i := range 8 {
		if _, err := fmt.Fprintf(f, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"own.txt", "own.txt.1", "own.txt.2"}, names(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
	if got := content(t, path+".1"); got != "line 4\nline 5\n" {
		t.Errorf("%q", got)
	}
	f.SetRules(Rules{MaxSize: 20, Files: 2, Compress: true})
	if _, err := f.Write([]byte("line 8\n")); err != nil {
		t.Fatal(err)
	}
	until(t, "a compressed file", func() bool {
		return cmp.Equal([]string{"own.txt", "own.txt.1.gz"}, names(t, dir))
	})
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Write([]byte("late\n")); err != nil || strings.Contains(content(t, path), "late") {
		t.Errorf("written after Close (%v)", err)
	}
}

// The file counts what a full disk did not take, in a line of its owner's.
func TestFileOnFullDisk(t *testing.T) {
	d := &disk{room: 12}
	told := 0
	f, err := OpenFile(filepath.Join(t.TempDir(), "own"), FileOptions{
		Missing: func(n uint64, cause error) []byte { return fmt.Appendf(nil, "%d missing: %v\n", n, cause) },
		OnError: func(error) { told++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.mu.Lock()
	_ = f.sink.close()
	f.sink.openFile = d.open
	f.mu.Unlock()
	for i := range 5 {
		_, _ = fmt.Fprintf(f, "line %d\n", i)
	}
	d.room = 1000
	f.mu.Lock()
	f.sink.retryAt = time.Time{}
	f.mu.Unlock()
	_, _ = f.Write([]byte("again\n"))
	want := fmt.Sprintf("line 0\n4 missing: %v\nagain\n", syscall.ENOSPC)
	if got := d.names[f.sink.path(0)].String(); got != want || told != 1 || f.Lost() != 4 {
		t.Errorf("%q, told %d times, %d lost", got, told, f.Lost())
	}
}

func TestOpenFileFails(t *testing.T) {
	if f, err := OpenFile(t.TempDir(), FileOptions{}); err == nil {
		t.Errorf("a folder was opened as a file: %v", f)
	}
}
