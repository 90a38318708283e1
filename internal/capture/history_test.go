package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	old := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: 1000}})
	for i := range 10 {
		say(old, 4, fmt.Sprintf("before %d\n", i))
	}
	old.Close()

	l := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: 1000}, Ring: 5})
	defer l.Close()
	if got, err := l.History(2); err != nil || len(got) != 2 || got[1].Text != "before 9" || got[1].Seq != 0 || got[1].Life != 4 {
		t.Errorf("of an earlier run: %+v (%v)", got, err)
	}
	for i := range 40 {
		say(l, 1, fmt.Sprintf("now %d\n", i+1))
	}
	for _, n := range []int{-1, 0, 1, 5, 6, 20, 40, 45, 50, 51, 1000} {
		lines, err := l.History(n)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(0, min(n, 50)); len(lines) != want {
			t.Fatalf("History(%d) has %d lines, want %d", n, len(lines), want)
		}
		for i, ln := range lines {
			k := 50 - len(lines) + i // of all 50
			want := Line{Seq: uint64(k - 9), Life: 1, Stream: Stdout, Text: fmt.Sprintf("now %d", k-9), Time: ln.Time}
			if k < 10 {
				want.Seq, want.Life, want.Text = 0, 4, fmt.Sprintf("before %d", k)
			}
			if d := cmp.Diff(want, ln); d != "" {
				t.Fatalf("History(%d), line %d (-want +got)\n%s", n, i, d)
			}
		}
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "x.log*")); len(list) < 2 {
		t.Errorf("all lines are in %v, nothing was rotated", list)
	}
}

// Lines that are not in the format must be skipped: torn lines, lines that are too
// long, whole files.
func TestHistoryOfForeignFiles(t *testing.T) {
	const good = "2026-11-21T12:00:00.000000Z 7 out good"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.log":   good + " 4\n2026-11-21T12:00:",
		"x.log.1": "\n\n" + good + " 2\n" + strings.Repeat("x", 300000) + "\n" + good + " 3\n\n",
		"x.log.2": strings.Repeat("y", 500000),
		"x.log.3": good + " 1\n" + strings.Repeat("z", maxStored+1) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := New(Options{Dir: dir, Name: "x"})
	lines, err := l.History(100)
	if d := cmp.Diff([]string{"good 1", "good 2", "good 3", "good 4"}, texts(lines)); err != nil || d != "" {
		t.Fatalf("%v (-want +got)\n%s", err, d)
	}
	// The torn line at the end must not swallow the next line.
	say(l, 8, "good 5\n")
	l.Close()
	l.cur = nil
	if lines, err := l.History(1); err != nil || len(lines) != 1 || lines[0].Text != "good 5" {
		t.Errorf("after a torn line: %v (%v)", lines, err)
	}
}

func TestHistoryReportsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x.log.1"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := New(Options{Dir: dir, Name: "x"})
	defer l.Close()
	say(l, 1, "a\n")
	if err := os.WriteFile(filepath.Join(dir, "x.log.2"), []byte("2026-11-21T12:00:00.000000Z 7 out b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := l.History(10)
	if d := cmp.Diff([]string{"b", "a"}, texts(lines)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if err == nil || !strings.Contains(err.Error(), "x.log.1") {
		t.Errorf("the folder in place of a file was not reported: %v", err)
	}
}

func TestBackwards(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var b strings.Builder
		var want []string
		for range rnd.IntN(20) {
			n := rnd.IntN(1 << rnd.IntN(18))
			line := strings.Repeat("x", n)
			b.WriteString(line + "\n")
			if n <= maxStored && n > 0 {
				want = append(want, line)
			}
		}
		text := b.String()
		if rnd.IntN(2) == 0 {
			text += "end"
			want = append(want, "end")
		}
		var got []string
		err := backwards(strings.NewReader(text), int64(len(text)), func(b []byte) bool {
			if len(b) > 0 { // an empty first line is not passed on: none is ever written
				got = append([]string{string(b)}, got...)
			}
			return true
		})
		if err != nil || !equal(want, got) {
			t.Fatalf("%d bytes: %d lines, want %d (%v)", len(text), len(got), len(want), err)
		}
	}
	if err := backwards(strings.NewReader("short"), 10, func([]byte) bool { return true }); err == nil {
		t.Error("a file that lost its end is not reported")
	}
}

// History must be right while lines are added and files rotate.
func TestHistoryWhileWriting(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x", Rules: Rules{MaxSize: 4000, Files: 3}, Ring: 10})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 5000 {
			say(l, 1, fmt.Sprintf("%d\n", i+1))
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		lines, err := l.History(150)
		if err != nil {
			t.Fatal(err)
		}
		for i, ln := range lines {
			if ln.Text != fmt.Sprint(ln.Seq) || i > 0 && ln.Seq != lines[i-1].Seq+1 {
				t.Fatalf("line %d: %+v", i, ln)
			}
		}
	}
	l.Close()
}
