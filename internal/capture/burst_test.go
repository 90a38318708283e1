package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Of lines that arrive by the hundred only some have the stamp that they share. All
// of them must be read back unchanged, from files that each begin with a stamp.
func TestBurstSharesStamps(t *testing.T) {
	for _, size := range []int64{900, 3000, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := t.TempDir()
			l := New(Options{Dir: dir, Name: "x", MaxSize: size, Files: 500, Ring: 3})
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
			for _, n := range []int{4, 63, 64, 65, 499, 500, 700, 1500, 2000} {
				got, err := l.History(n)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if got[i].Time.IsZero() {
						t.Fatalf("no time: %+v", got[i])
					}
					got[i].Time = time.Time{}
				}
				if d := cmp.Diff(want[max(0, len(want)-n):], got); d != "" {
					t.Fatalf("History(%d) (-want +got)\n%s", n, d)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "x.log*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			indented := 0
			for _, name := range files {
				b, err := os.ReadFile(name)
				if err != nil || len(b) == 0 || b[0] == ' ' || b[len(b)-1] != '\n' {
					t.Errorf("%s: %q (%v)", name, b, err)
				}
				indented += bytes.Count(b, []byte("\n "))
				if int64(len(b)) > size {
					t.Errorf("%s has %d bytes", name, len(b))
				}
			}
			if size == 1<<20 && indented < 1200 {
				t.Errorf("only %d lines without a stamp", indented)
			}
		})
	}
}

// narrow fails once it holds room bytes.
type narrow struct {
	discard
	room int
	b    *bytes.Buffer
}

func (n narrow) Write(b []byte) (int, error) {
	if n.b.Len()+len(b) <= n.room {
		return n.b.Write(b)
	}
	k, _ := n.b.Write(b[:max(0, n.room-n.b.Len())])
	return k, errors.New("full")
}

func (n narrow) Truncate(size int64) error {
	n.b.Truncate(int(size))
	return nil
}

// A file that fails anywhere in an append that begins with a stamp of its own must
// keep whole lines, and never a stamp without a line.
func TestFailedWriteLeavesNoStampWithoutLine(t *testing.T) {
	dir := t.TempDir()
	stamp, lines := []byte("STAMP out "), []byte(" one\n two\n")
	for room := range len("STAMP out one\n two\n") + 1 {
		var b bytes.Buffer
		s := sink{dir: dir, bounds: bounds{1 << 20, 1}, openFile: func(string) (file, int64, error) { return narrow{room: room, b: &b}, 0, nil }}
		done := s.write(lines, stamp, time.Unix(0, 0))
		want := map[int]string{0: "", 5: "STAMP out one\n", 10: "STAMP out one\n two\n"}
		if text, ok := want[done]; !ok || b.String() != text || done == 0 && room >= 14 {
			t.Errorf("room for %d: %d bytes done, %q", room, done, b.String())
		}
	}
}
