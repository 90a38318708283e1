package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// disk is a file system with room for free bytes.
type disk struct {
	room    int
	openErr error
	opens   int
	names   map[string]*bytes.Buffer
}

type diskFile struct {
	d *disk
	b *bytes.Buffer
}

func (d *disk) open(path string) (file, int64, error) {
	d.opens++
	if d.openErr != nil {
		return nil, 0, d.openErr
	}
	b := d.names[path]
	if b == nil {
		b = new(bytes.Buffer)
		if d.names == nil {
			d.names = map[string]*bytes.Buffer{}
		}
		d.names[path] = b
	}
	return &diskFile{d, b}, int64(b.Len()), nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	n := min(len(p), f.d.room)
	f.d.room -= n
	f.b.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *diskFile) Truncate(size int64) error {
	f.d.room += f.b.Len() - int(size)
	f.b.Truncate(int(size))
	return nil
}
func (f *diskFile) Sync() error  { return nil }
func (f *diskFile) Close() error { return nil }

func TestSinkOnFullDisk(t *testing.T) {
	d := &disk{room: 12}
	s := sink{base: filepath.Join(t.TempDir(), "x.log"), Rules: Rules{MaxSize: 1 << 20, Files: 2}, openFile: d.open}
	now := time.Unix(0, 0)
	content := func() string { return d.names[s.path(0)].String() }

	if n := s.write([]byte("one\ntwo\nthree\nfour\n"), now); n != 8 || content() != "one\ntwo\n" {
		t.Fatalf("%d bytes written, %q in the file: want the two whole lines", n, content())
	}
	if err := s.report(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "x.log") {
		t.Errorf("reported: %v", err)
	}
	if n := s.write([]byte("five\n"), now); n != 0 {
		t.Errorf("%d bytes written while down", n)
	}
	if err := s.report(); err != nil {
		t.Errorf("reported twice: %v", err)
	}
	if err := s.sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("sync while down: %v", err)
	}
	if s.lostLines != 3 || s.lostBytes != 16 {
		t.Errorf("%d lines, %d bytes lost, want 3 and 16", s.lostLines, s.lostBytes)
	}

	// Each failed attempt doubles the wait, up to a minute.
	var waits []time.Duration
	for range 8 {
		waits = append(waits, s.retryAt.Sub(now))
		now = s.retryAt
		if s.revive([]byte("a note\n"), now) {
			t.Fatal("a full disk took a note")
		}
		if err := s.report(); err != nil {
			t.Errorf("reported again: %v", err)
		}
	}
	sec := time.Second
	if d := cmp.Diff([]time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 60 * sec, 60 * sec}, waits); d != "" {
		t.Errorf("waits (-want +got)\n%s", d)
	}
	d.room = 20
	if !s.revive([]byte("a note\n"), now) || content() != "one\ntwo\na note\n" {
		t.Fatalf("not revived: %q", content())
	}
	if n := s.write([]byte("six\n"), now); n != 4 || s.lostLines != 0 {
		t.Errorf("%d bytes written after the spell", n)
	}

	// A failure soon after: reported again, and the wait continues where it was. After
	// a minute without failures it starts again.
	d.room = 0
	s.write([]byte("seven\n"), now.Add(sec))
	if s.report() == nil || s.retryAt.Sub(now) != 61*sec {
		t.Errorf("second spell: next try after %v", s.retryAt.Sub(now))
	}
	d.room = 20
	now = s.retryAt
	if !s.revive([]byte("a note\n"), now) {
		t.Fatal("not revived")
	}
	d.room = 0
	now = now.Add(2 * time.Minute)
	s.write([]byte("eight\n"), now)
	if s.retryAt.Sub(now) != sec {
		t.Errorf("third spell: next try after %v", s.retryAt.Sub(now))
	}
	if content() != "one\ntwo\na note\nsix\na note\n" {
		t.Errorf("in the file: %q", content())
	}
}

// A log must work while its disk is full: memory and followers have all lines, numbers
// stay right, OnError is called once, and the file counts what is missing.
func TestLogOnFullDisk(t *testing.T) {
	d := &disk{room: 1 << 20}
	var reported []error
	l := New(Options{Dir: t.TempDir(), Name: "x", Ring: 20, OnError: func(err error) { reported = append(reported, err) }})
	l.sink.openFile = d.open
	for i := 1; i <= 30; i++ {
		switch i {
		case 11:
			d.room = 0
		case 21:
			d.room = 1 << 20
			l.sink.retryAt = time.Time{}
		}
		say(l, 1, fmt.Sprintf("%d\n", i))
	}
	if len(reported) != 1 || !errors.Is(reported[0], syscall.ENOSPC) {
		t.Errorf("reported %v", reported)
	}
	if st := l.Stats(); st.LostLines != 10 || st.LostBytes < 20 {
		t.Errorf("%+v", st)
	}
	stored := d.names[l.sink.path(0)].String()
	if err := os.WriteFile(l.sink.path(0), []byte(stored), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := l.History(100)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := 1; i <= 30; i++ {
		switch {
		case i == 21:
			want = append(want, "10 lines (370 bytes) of output are missing here: no space left on device")
		}
		if i != 11 { // 20 lines back from 30 and a note
			want = append(want, fmt.Sprint(i))
		}
	}
	if d := cmp.Diff(want, texts(lines)); d != "" {
		t.Errorf("file and memory together (-want +got)\n%s", d)
	}
	for _, ln := range lines {
		switch {
		case ln.Stream == Note && ln.Seq != 21,
			ln.Stream == Stdout && ln.Seq <= 20 && ln.Text != fmt.Sprint(ln.Seq),
			ln.Stream == Stdout && ln.Seq > 21 && ln.Text != fmt.Sprint(ln.Seq-1):
			t.Errorf("wrong number: %+v", ln)
		}
	}
	if n := strings.Count(stored, "\n"); n != 21 {
		t.Errorf("%d lines in the file, want 21", n)
	}

	// Close is the last chance to record what is missing.
	d.room = 0
	say(l, 1, "unseen\n")
	d.room = 1000
	l.Close()
	if !strings.Contains(d.names[l.sink.path(0)].String(), "1 lines (41 bytes) of output are missing here") {
		t.Error("no note at the end")
	}
}

// A folder that cannot be made is like a full disk; so is a file name that something
// else occupies.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "x.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{Dir: filepath.Join(dir, "taken", "logs"), Name: "y"}, {Dir: dir, Name: "x"}} {
		reported := 0
		opt.OnError = func(error) { reported++ }
		l := New(opt)
		for range 100 {
			say(l, 1, "a line\n")
		}
		if n := l.Stats().LostLines; reported != 1 || n != 100 || len(l.Tail(1000)) != 100 {
			t.Errorf("%s: reported %d times, %d dropped, %d in memory", opt.Dir, reported, n, len(l.Tail(1000)))
		}
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// After many series of failures the record of them must be bounded, and numbers must
// be right or missing.
func TestManyGaps(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x", Ring: 1})
	real := &disk{room: 1 << 20}
	l.sink.openFile = real.open
	for i := range 3 * maxGaps {
		real.room = 0
		say(l, 1, "lost\n")
		real.room = 1 << 20
		l.sink.retryAt = time.Time{}
		say(l, 1, fmt.Sprintf("kept %d\n", i))
	}
	if n := len(l.gaps.ranges); n != maxGaps {
		t.Errorf("%d gaps are remembered, want %d", n, maxGaps)
	}
	if err := os.WriteFile(l.sink.path(0), real.names[l.sink.path(0)].Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := l.History(100000)
	if err != nil || len(lines) != 6*maxGaps {
		t.Fatalf("%d lines, want a note and a line of each spell (%v)", len(lines), err)
	}
	known := 0
	for i, ln := range lines {
		if want := uint64(i/2*3 + 2 + i%2); ln.Seq != 0 && ln.Seq != want {
			t.Fatalf("line %d: %+v, want number %d", i, ln, want)
		} else if ln.Seq != 0 {
			known++
		}
	}
	if known < 2*maxGaps-2 {
		t.Errorf("%d numbers are known", known)
	}
	l.Close()
}

// Rotation must not lose lines that should be kept, whatever the sizes.
func TestRotation(t *testing.T) {
	for _, c := range []struct {
		size  int64
		files int
	}{{1, 3}, {100, 1}, {1000, 2}, {5000, 4}} {
		dir := t.TempDir()
		l := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: c.size, Files: c.files}, Ring: 1})
		const lines = 1000
		for i := 0; i < lines; i += 10 {
			var b strings.Builder
			for k := range 10 {
				fmt.Fprintf(&b, "%d\n", i+k)
			}
			say(l, 1, b.String())
		}
		l.Close()
		var stored []string
		var total int64
		list, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(list) > c.files {
			t.Errorf("%+v: files %v", c, list)
		}
		for i := c.files - 1; i >= 0; i-- {
			b, err := os.ReadFile(l.sink.path(i))
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if size := int64(len(b)); size > c.size && bytes.Count(b, []byte{'\n'}) > 1 {
				t.Errorf("%+v: file %d has %d bytes", c, i, size)
			} else {
				total += size
			}
			for _, s := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
				_, text, _ := strings.Cut(s, " out ")
				stored = append(stored, text)
			}
		}
		for i, s := range stored {
			if want := fmt.Sprint(lines - len(stored) + i); s != want {
				t.Fatalf("%+v: %q in place of line %s", c, s, want)
			}
		}
		if least := (c.size - 40) * int64(c.files-1); total < least {
			t.Errorf("%+v: %d bytes are kept, want at least %d", c, total, least)
		}
	}
}

// A host's output through a pipe, in files that rotate meanwhile.
func TestRotationUnderLoad(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x", Rules: Rules{MaxSize: 1 << 20, Files: 8}})
	r, w := pipe(t)
	c := l.Capture(r, Stdout, 1)
	const lines = 40000
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("x", i%200))
	}
	if _, err := b.WriteTo(w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	wait(t, c.Done(), "end of the stream")
	l.Close()
	l.cur = nil
	got, err := l.History(lines)
	if err != nil || len(got) != lines {
		t.Fatalf("%d lines of %d (%v)", len(got), lines, err)
	}
	for i, ln := range got {
		if ln.Text != fmt.Sprintf("%d %s", i, strings.Repeat("x", i%200)) {
			t.Fatalf("line %d: %q", i, ln.Text)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(l.opt.Dir, "*")); len(list) < 5 {
		t.Errorf("files %v: not rotated", list)
	}
}
