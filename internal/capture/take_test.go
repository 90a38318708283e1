package capture

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// plain, which takes most lines, must give the same result as next.
func TestTakeAgreesWithNext(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		var b []byte
		for range 1 + rnd.IntN(12) {
			n := rnd.IntN(6)
			if rnd.IntN(4) == 0 {
				n = MaxLine - 3 + rnd.IntN(6)
			}
			b = append(b, strings.Repeat("é", n/2)+strings.Repeat("x", n%2)...)
			b = append(b, []string{"\n", "\r\n", "\r", "\r\r\n", "\n\n"}[rnd.IntN(5)]...)
		}
		var want []string
		for at := 0; at < len(b); {
			end, adv, _ := next(b[at:], 0, MaxLine)
			if adv == 0 {
				end, adv, _ = last(b[at:], MaxLine)
			}
			want = append(want, string(b[at:at+end]))
			at += adv
		}
		l := New(Options{Dir: t.TempDir(), Ring: 100})
		if n := l.take(b, 0, true, Stdout, 1); n != len(b) {
			t.Fatalf("%d of %d bytes", n, len(b))
		}
		if got := texts(l.Tail(100)); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%d lines instead of %d", len(got), len(want))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := l.History(100)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(file); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%d lines in the file instead of %d", len(got), len(want))
		}
	}
}
