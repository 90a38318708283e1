package capture

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every line in a file has its time, life and stream, also when lines arrive by the
// hundred, and every line is read back unchanged, from files of both formats.
func TestEveryLineHasItsStamp(t *testing.T) {
	for _, size := range []int64{900, 3000, 1 << 20} {
		for _, json := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", size, json), func(t *testing.T) {
				dir := t.TempDir()
				l := New(Options{Dir: dir, Name: "x", Rules: Rules{MaxSize: size, Files: 800, JSON: json}, Ring: 3})
				var want []Line
				for life, s := range []Stream{Stdout, Stderr, Stdout} {
					var b []byte
					for i := range 500 {
						text := fmt.Sprintf("%*d", i%7, i) // some begin with spaces
						want = append(want, Line{Seq: uint64(len(want) + 1), Life: uint64(life + 1), Stream: s, Text: text})
						b = append(append(b, text...), '\n')
					}
					if n := l.take(b, 0, true, s, uint64(life+1)); n != len(b) {
						t.Fatalf("%d of %d bytes", n, len(b))
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{4, 499, 700, 2000} {
					got, err := l.History(n)
					if err != nil {
						t.Fatal(err)
					}
					timeless(t, got)
					if d := cmp.Diff(want[max(0, len(want)-n):], got); d != "" {
						t.Fatalf("History(%d) (-want +got)\n%s", n, d)
					}
				}
				files, err := filepath.Glob(filepath.Join(dir, "x.log*"))
				if err != nil || len(files) == 0 {
					t.Fatal(files, err)
				}
				for _, name := range files {
					b, err := os.ReadFile(name)
					if err != nil || int64(len(b)) > size {
						t.Errorf("%s has %d bytes (%v)", name, len(b), err)
					}
					var p parser
					for line := range bytes.Lines(b) {
						if _, ok := p.parse(bytes.TrimSuffix(line, []byte{'\n'})); !ok {
							t.Fatalf("%s: not a line with a stamp: %q", name, line)
						}
					}
				}
			})
		}
	}
}

// timeless checks that lines have a time, and clears it.
func timeless(t *testing.T, lines []Line) {
	t.Helper()
	for i := range lines {
		if lines[i].Time.IsZero() {
			t.Fatalf("no time: %+v", lines[i])
		}
		lines[i].Time = time.Time{}
	}
}

// Files of earlier versions, in which lines share the stamp of one before them, can
// still be read.
func TestSharedStampsAreReadBack(t *testing.T) {
	dir := t.TempDir()
	const old = "2026-11-21T12:00:00.000000Z 7 out one\n two\n  three\n2026-11-21T12:00:01.000000Z 7 err four\n"
	if err := os.WriteFile(filepath.Join(dir, "x.log"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(Options{Dir: dir, Name: "x"})
	defer l.Close()
	got, err := l.History(10)
	if err != nil {
		t.Fatal(err)
	}
	timeless(t, got)
	want := []Line{{Life: 7, Stream: Stdout, Text: "one"}, {Life: 7, Stream: Stdout, Text: "two"}, {Life: 7, Stream: Stdout, Text: " three"}, {Life: 7, Stream: Stderr, Text: "four"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
