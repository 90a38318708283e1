package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// names returns the names of the files in a folder, in order.
func names(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// settled waits until the archiver of a log has nothing to do.
func settled(t testing.TB, l *Log) {
	t.Helper()
	a := l.sink.archive
	until(t, "the archiver", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return !a.running
	})
}

func unzipped(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Old files are compressed, move up, and are read back with the lines of the others.
func TestOldFilesAreCompressed(t *testing.T) {
	dir := t.TempDir()
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{MaxSize: 400, Files: 4, Compress: true}, Ring: 2, OnArchiveError: func(err error) { t.Error(err) }})
	defer l.Close()
	var want []string
	for i := range 40 {
		say(l, 1, fmt.Sprintf("line %d\n", i))
		settled(t, l)
		want = append(want, fmt.Sprintf("line %d", i))
	}
	if d := cmp.Diff([]string{"x.log", "x.log.1.gz", "x.log.2.gz", "x.log.3.gz"}, names(t, dir)); d != "" {
		t.Fatalf("files (-want +got)\n%s", d)
	}
	if st, err := os.Stat(filepath.Join(dir, "x.log.1.gz")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	lines := strings.Count(unzipped(t, filepath.Join(dir, "x.log.2.gz")), "\n")
	if lines == 0 {
		t.Fatal("an empty file")
	}
	for _, n := range []int{1, lines, 2 * lines, 3*lines + 1, 100} {
		got, err := l.History(n)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[len(want)-len(got):], texts(got)); d != "" || len(got) < min(n, 3*lines+1) {
			t.Errorf("History(%d) (-want +got)\n%s", n, d)
		}
		for i, ln := range got {
			if ln.Seq != uint64(40-len(got)+i+1) {
				t.Fatalf("number of %+v", ln)
			}
		}
	}
}

// A supervisor that is killed while it compresses leaves the original, which counts, and
// perhaps a part that nobody takes for a whole. The next one finishes the work.
func TestKilledWhileCompressing(t *testing.T) {
	dir := t.TempDir()
	text := func(i int) string { return fmt.Sprintf("2026-11-21T12:00:00.000000Z 1 out old %d\n", i) }
	var half bytes.Buffer
	gz := gzip.NewWriter(&half)
	_, _ = gz.Write([]byte(text(1)))
	for name, content := range map[string]string{
		"x.log": text(0), "x.log.1": text(1), "x.log.2": text(2), "x.log.2.gz": "not what it was", "x.log.tmp": half.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{Compress: true}, OnArchiveError: func(err error) { t.Error(err) }})
	defer l.Close()
	check := func(want ...string) {
		t.Helper()
		got, err := l.History(100)
		if d := cmp.Diff(want, texts(got)); d != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	}
	check("old 2", "old 1", "old 0")
	say(l, 1, "new\n")
	settled(t, l)
	check("old 2", "old 1", "old 0", "new")
	if d := cmp.Diff([]string{"x.log", "x.log.1.gz", "x.log.2.gz"}, names(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
}

// A compressed file that is damaged is an error that names it, and hides nothing else.
func TestDamagedCompressedFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.log.1.gz"), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Ring: 1})
	defer l.Close()
	say(l, 1, "one\ntwo\n")
	got, err := l.History(10)
	if !errors.Is(err, gzip.ErrHeader) && !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "x.log.1.gz") {
		t.Errorf("error: %v", err)
	}
	if d := cmp.Diff([]string{"one", "two"}, texts(got)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The path of the partial file is taken: that is told once, and the original stays.
func TestCompressionFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "x.log.tmp", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 100)
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{MaxSize: 100, Files: 3, Compress: true}, OnArchiveError: func(err error) { failed <- err }})
	for range 20 {
		say(l, 1, "a line that fills a file, nearly, with what precedes it\n")
		settled(t, l)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if len(failed) != 1 {
		t.Errorf("told %d times", len(failed))
	}
	if d := cmp.Diff([]string{"x.log", "x.log.1", "x.log.2", "x.log.tmp"}, names(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
	if st := l.Stats(); st.LostLines != 0 || st.Lines != 20 {
		t.Errorf("%+v", st)
	}
}

// Files are removed by the time of their last line: those of a host that prints nothing,
// those of an earlier run, and the current one.
func TestOldFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, age time.Duration) {
		t.Helper()
		path, at := filepath.Join(dir, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, []byte("2026-11-21T12:00:00.000000Z 1 out old\n"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write("x.log", time.Minute)
	write("x.log.1", 2*time.Hour)
	write("x.log.2.gz", 3*time.Hour)
	write("y.log.1", 3*time.Hour)
	a := new(Archiver)
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{MaxAge: time.Hour}, Archiver: a})
	settled(t, l)
	if d := cmp.Diff([]string{"x.log", "y.log.1"}, names(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
	a.mu.Lock()
	if left := time.Until(a.due[&l.sink]); left < 50*time.Minute || left > time.Hour || a.timer == nil {
		t.Errorf("the next is due in %v", left)
	}
	a.mu.Unlock()

	say(l, 1, "new\n")
	settled(t, l)
	at := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "x.log"), at, at); err != nil {
		t.Fatal(err)
	}
	l.SetRules(Rules{MaxAge: time.Hour, Compress: true}) // looks at them again
	settled(t, l)
	if d := cmp.Diff([]string{"y.log.1"}, names(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
	say(l, 1, "newer\n")
	if b, err := os.ReadFile(filepath.Join(dir, "x.log")); err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("after the current file was removed: %q (%v)", b, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	a.Close()
	if a.timer != nil || len(a.due) != 0 || a.running {
		t.Errorf("left after the end: %+v", a)
	}
}

// The time comes while nothing is printed.
func TestFileIsRemovedWhenItsTimeComes(t *testing.T) {
	dir := t.TempDir()
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{MaxAge: 50 * time.Millisecond}})
	defer l.Close()
	say(l, 1, "a line\n")
	until(t, "an empty folder", func() bool { return len(names(t, dir)) == 0 })
}

// A file is followed by another one when its first line is old, in this run and after a
// restart, whatever the format.
func TestRotationByAge(t *testing.T) {
	for _, json := range []bool{false, true} {
		dir := t.TempDir()
		rules := Rules{RotateEvery: time.Hour, JSON: json}
		l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: rules})
		start := time.Now()
		at := func(l *Log, d time.Duration) int {
			t.Helper()
			var w scratch
			w.keep = 1
			l.begin(&w, start.Add(d), 1, Stdout)
			w.add([]byte("x"), span{0, 1, false}, true)
			if n := l.sink.write(w.out, start.Add(d)); n != len(w.out) {
				t.Fatal(l.sink.cause)
			}
			return len(names(t, dir))
		}
		if a, b, c, d := at(l, 0), at(l, 59*time.Minute), at(l, time.Hour), at(l, 119*time.Minute); a != 1 || b != 1 || c != 2 || d != 2 {
			t.Errorf("files: %d %d %d %d", a, b, c, d)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: rules})
		if a, b := at(l, 119*time.Minute), at(l, 121*time.Minute); a != 2 || b != 3 {
			t.Errorf("files after a restart: %d %d", a, b)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Closing a log ends the work on its files, and no host ever waits for that.
func TestCloseEndsCompression(t *testing.T) {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("2026-11-21T12:00:00.000000Z 1 out old\n"), 300_000)
	if err := os.WriteFile(filepath.Join(dir, "x.log.1"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(Options{Dir: dir, Name: "x", Packer: Gzip{}, Rules: Rules{MaxSize: 1000, Files: 100, Compress: true}})
	say(l, 1, "a line\n")
	until(t, "the start of the compression", func() bool {
		return len(names(t, dir)) > 2 || strings.HasSuffix(names(t, dir)[1], packed) // or its end
	})
	for range 100 { // rotates beside it
		say(l, 1, "a line of some sixty bytes, as hosts print them, give or take\n")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := names(t, dir)
	for _, name := range got {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("a part is left: %s", name)
		}
	}
	lines, err := l.History(300_101)
	if err != nil || len(lines) != 300_101 {
		t.Errorf("%d lines (%v)", len(lines), err)
	}
}
