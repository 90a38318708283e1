package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCapture(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	l := New(Options{Dir: dir, Name: "ts"})
	r, w := pipe(t)
	c := l.Capture(r, Stderr, 7)
	fmt.Fprint(w, "one\ntwo\r\n\nlast words")
	w.Close()
	wait(t, c.Done(), "end of the stream")
	if err := c.Err(); err != nil {
		t.Errorf("an end must not be an error: %v", err)
	}
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the pipe was left open: %v", err)
	}
	want := []string{"one", "two", "", "last words"}
	for name, lines := range map[string][]Line{"Tail": l.Tail(10), "TailOfLife": l.TailOfLife(7, 10)} {
		if d := cmp.Diff(want, texts(lines)); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		for i, ln := range lines {
			if ln.Seq != uint64(i+1) || ln.Life != 7 || ln.Stream != Stderr || ln.Time.IsZero() || ln.Lost != 0 {
				t.Errorf("%s: %+v", name, ln)
			}
		}
	}
	if d := cmp.Diff(want[2:], texts(l.Tail(2))); d != "" {
		t.Errorf("Tail(2) (-want +got)\n%s", d)
	}
	if got := l.Lines(); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
	if err := l.Sync(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "ts.log"): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != mode {
			t.Errorf("%s: mode %v, want %v (%v)", path, st.Mode(), mode, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "ts.log"))
	if err != nil {
		t.Fatal(err)
	}
	for i, ln := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if !strings.HasSuffix(ln, " 7 err "+want[i]) {
			t.Errorf("line %d of the file: %q", i, ln)
		}
	}
}

// A host's bytes must be kept unchanged, and make valid JSON.
func TestBytesAreKeptUnchanged(t *testing.T) {
	dir := t.TempDir()
	l := New(Options{Dir: dir, Name: "x"})
	defer l.Close()
	raw := "nul\x00 bad\xff\xfe esc\x1b[1m \u2028"
	say(l, 1, raw+"\n")
	if got := l.Tail(1)[0].Text; got != raw {
		t.Errorf("in memory: %q", got)
	}
	b, err := os.ReadFile(filepath.Join(dir, "x.log"))
	if err != nil || !bytes.HasSuffix(b, []byte(raw+"\n")) {
		t.Errorf("in the file: %q (%v)", b, err)
	}
	j, err := json.Marshal(l.Tail(1)[0])
	if err != nil || !utf8.Valid(j) || !json.Valid(j) {
		t.Fatalf("JSON %q (%v)", j, err)
	}
	var back Line
	if err := json.Unmarshal(j, &back); err != nil || back.Text != "nul\x00 bad\ufffd\ufffd esc\x1b[1m \u2028" || back.Stream != Stdout {
		t.Errorf("from JSON: %+v (%v)", back, err)
	}
}

// A host that prints nothing must not cost a file.
func TestSilentHostMakesNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	l := New(Options{Dir: dir, Name: "x"})
	r, w := pipe(t)
	c := l.Capture(r, Stdout, 1)
	w.Close()
	wait(t, c.Done(), "end of the stream")
	if err := l.Sync(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
}

// Lines of any length in writes of any size, through a real pipe, must come out the
// same in memory and in the files.
func TestAnyLinesAnyWrites(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	lengths := []int{0, 1, 10, 99, 100, 101, 4095, 4096, 32768, MaxLine - 1, MaxLine, MaxLine + 1, MaxLine + 2, 3*MaxLine + 5}
	for round := range 8 {
		var data []byte
		var want []string
		for range 40 {
			line := bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, lengths[rnd.IntN(len(lengths))])
			data = append(data, line...)
			if rnd.IntN(3) == 0 {
				data = append(data, '\r')
			}
			data = append(data, '\n')
			for len(line) > MaxLine {
				want = append(want, string(line[:MaxLine]))
				line = line[MaxLine:]
			}
			want = append(want, string(line))
		}
		l := New(Options{Dir: t.TempDir(), Name: "x", RingBytes: 1 << 30, Ring: 1000, Rules: Rules{MaxSize: 100 << 20}})
		r, w := pipe(t)
		c := l.Capture(r, Stdout, 1)
		for len(data) > 0 {
			n := min(len(data), 1+rnd.IntN(1<<rnd.IntN(18)))
			if _, err := w.Write(data[:n]); err != nil {
				t.Fatal(err)
			}
			data = data[n:]
		}
		w.Close()
		wait(t, c.Done(), "end of the stream")
		if !equal(want, texts(l.Tail(1000))) {
			t.Fatalf("round %d: memory differs", round)
		}
		l.Close()
		again := New(Options{Dir: l.opt.Dir, Name: "x"})
		lines, err := again.History(1000)
		if err != nil || !equal(want, texts(lines)) {
			t.Fatalf("round %d: files differ (%v)", round, err)
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Stop must end a capture whose pipe another process still holds, after taking what
// is in it.
func TestStopTakesWhatIsThere(t *testing.T) {
	l := New(Options{})
	defer l.Close()
	for round := range 50 {
		r, w := pipe(t)
		want := fmt.Sprintf("last words %d", round)
		fmt.Fprintf(w, "first\n%s", want)
		c := l.Capture(r, Stdout, uint64(round+1))
		c.Stop()
		c.Stop()
		wait(t, c.Done(), "stop")
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"first", want}, texts(l.TailOfLife(uint64(round+1), 10))); d != "" {
			t.Fatalf("round %d (-want +got)\n%s", round, d)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("the pipe was left open: %v", err)
		}
		w.Close()
	}
}

// Stop must end the capture even if a writer never pauses.
func TestStopAgainstBusyWriter(t *testing.T) {
	l := New(Options{})
	defer l.Close()
	r, w := pipe(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		block := bytes.Repeat([]byte("noise\n"), 10000)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	c := l.Capture(r, Stdout, 1)
	until(t, "lines", func() bool { return l.Lines() > 100000 })
	c.Stop()
	wait(t, c.Done(), "stop")
}

// A file that cannot be polled must be read to its end too.
func TestCaptureOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456789\n"), 100000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{})
	defer l.Close()
	c := l.Capture(f, Stdout, 1)
	wait(t, c.Done(), "end of the file")
	if got := l.Lines(); got != 100000 || c.Err() != nil {
		t.Errorf("%d lines, %v", got, c.Err())
	}
}

func TestReadError(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{})
	defer l.Close()
	c := l.Capture(dir, Stdout, 1)
	wait(t, c.Done(), "read error")
	if !errors.Is(c.Err(), syscall.EISDIR) {
		t.Errorf("got %v, want is a directory", c.Err())
	}
}

func TestClose(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x"})
	r, w := pipe(t)
	fmt.Fprint(w, "one\ntwo")
	c := l.Capture(r, Stdout, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	select {
	case <-c.Done():
	default:
		t.Fatal("Close did not wait for a capture")
	}
	l.Note(1, "too late")
	if d := cmp.Diff([]string{"one", "two"}, texts(l.Tail(9))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	r, w = pipe(t)
	c = l.Capture(r, Stdout, 2)
	wait(t, c.Done(), "capture on a closed log")
	c.Stop()
	if !errors.Is(c.Err(), os.ErrClosed) {
		t.Errorf("got %v", c.Err())
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the pipe was left open: %v", err)
	}
	c = l.Capture(nil, Stdout, 2)
	c.Stop()
	wait(t, c.Done(), "capture of nothing")
}

// The next life must not push out the last lines of a crashed one, and the tail over
// all lives must have no holes.
func TestLastLinesOutliveTheNextLife(t *testing.T) {
	l := New(Options{Ring: 10})
	defer l.Close()
	count := 0
	print := func(life uint64, n int) {
		for range n {
			count++
			say(l, life, fmt.Sprintf("%d\n", count))
		}
	}
	numbers := func(from, to int) (out []string) {
		for i := from; i <= to; i++ {
			out = append(out, fmt.Sprint(i))
		}
		return out
	}
	print(1, 3)
	print(2, 3)
	if d := cmp.Diff(numbers(1, 6), texts(l.Tail(10))); d != "" {
		t.Errorf("two short lives (-want +got)\n%s", d)
	}
	print(2, 10) // 7…16
	print(3, 50) // 17…66
	print(2, 2)  // 67, 68: late
	print(1, 1)  // 69: later still
	print(3, 1)  // 70
	if d := cmp.Diff(append(numbers(10, 16), "67", "68"), texts(l.TailOfLife(2, 100))); d != "" {
		t.Errorf("of life 2 (-want +got)\n%s", d)
	}
	if d := cmp.Diff(numbers(61, 70), texts(l.Tail(10))); d != "" {
		t.Errorf("the last ten (-want +got)\n%s", d)
	}
	print(4, 1) // 71
	if d := cmp.Diff(numbers(62, 71), texts(l.Tail(10))); d != "" {
		t.Errorf("the last ten after life 4 began (-want +got)\n%s", d)
	}
	l.Note(4, "a remark\nof two lines")
	if d := cmp.Diff([]string{"71", "a remark of two lines"}, texts(l.Tail(2))); d != "" {
		t.Errorf("with a note (-want +got)\n%s", d)
	}
	if d := cmp.Diff(numbers(71, 71), texts(l.TailOfLife(4, 10))); d != "" {
		t.Errorf("a note is not the host's output (-want +got)\n%s", d)
	}
}

// Long lines must not take more memory than allowed, and the newest one must stay.
func TestRingBytes(t *testing.T) {
	l := New(Options{RingBytes: 1000})
	defer l.Close()
	for i := range 10 {
		say(l, 1, strings.Repeat(fmt.Sprint(i), 300)+"\n")
	}
	if got := l.Tail(100); len(got) != 3 || got[2].Text[0] != '9' {
		t.Errorf("%d lines of 300 bytes in 1000", len(got))
	}
	say(l, 1, strings.Repeat("x", 5000)+"\n"+strings.Repeat("y", 5000)+"\n")
	if got := l.Tail(100); len(got) != 1 || got[0].Text[0] != 'y' {
		t.Errorf("%d lines of 5000 bytes in 1000", len(got))
	}
}

// With both streams and notes at once, numbers must have no gap and each stream must
// keep its order.
func TestStreamsTogether(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x", Ring: 10000})
	var wg sync.WaitGroup
	var captures []*Capture
	for _, s := range []Stream{Stdout, Stderr} {
		r, w := pipe(t)
		captures = append(captures, l.Capture(r, s, 1))
		wg.Go(func() {
			for i := range 2000 {
				fmt.Fprintf(w, "%d\n", i)
			}
			w.Close()
		})
	}
	wg.Go(func() {
		for i := range 2000 {
			l.Note(1, fmt.Sprint(i))
		}
	})
	wg.Wait()
	for _, c := range captures {
		wait(t, c.Done(), "end of the stream")
	}
	memory := l.Tail(10000)
	l.Close()
	next := map[Stream]int{}
	for i, ln := range memory {
		if ln.Seq != uint64(i+1) || ln.Text != fmt.Sprint(next[ln.Stream]) {
			t.Fatalf("line %d: %+v", i, ln)
		}
		next[ln.Stream]++
	}
	if len(memory) != 6000 {
		t.Errorf("%d lines, want 6000", len(memory))
	}
	l.cur, l.past = nil, nil // the files alone
	files, err := l.History(10000)
	if d := cmp.Diff(memory, files); err != nil || d != "" {
		t.Errorf("the files differ: %v (-memory +files)\n%.2000s", err, d)
	}
}

func TestFileNameStaysInFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "é", "a\x00b", "/etc/passwd"} {
		l := New(Options{Dir: filepath.Join(dir, "logs"), Name: name})
		say(l, 1, "x\n")
		if err := l.Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if st := l.Stats(); st.Lines != 1 || st.Bytes == 0 || st.LostLines != 0 || st.Err != nil {
			t.Errorf("%q: %+v", name, st)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("written outside of its folder: %v (%v)", list, err)
	}
}
