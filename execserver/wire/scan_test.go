package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestOrdinaryStopsAtTheFirstByteThatIsNot compares eight bytes at a time with one at a
// time, for each byte at each place of a short text.
func TestOrdinaryStopsAtTheFirstByteThatIsNot(t *testing.T) {
	slowly := func(b []byte) (n int, ascii bool) {
		ascii = true
		for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
			ascii = ascii && b[n] < 0x80
			n++
		}
		return n, ascii
	}
	compare := func(b []byte) {
		t.Helper()
		n, ascii := ordinary(b)
		if want, same := slowly(b); n != want || ascii != same {
			t.Fatalf("%q: %d, %t instead of %d, %t", b, n, ascii, want, same)
		}
	}
	for length := range 33 {
		for at := range length {
			for c := range 256 {
				b := bytes.Repeat([]byte("a"), length)
				b[at] = byte(c)
				compare(b)
			}
		}
	}
	edges := []byte{0, 1, 0x1f, 0x20, 0x21, '"', '#', '[', '\\', ']', 0x7f, 0x80, 0x9f, 0xa0, 0xa2, 0xdc, 0xff}
	for range 20_000 {
		b := make([]byte, rand.IntN(40))
		for i := range b {
			b[i] = edges[rand.IntN(len(edges))]
		}
		compare(b)
	}
}

func BenchmarkScanString(b *testing.B) {
	text := append(append([]byte{'"'}, bytes.Repeat([]byte("QUJD"), 1<<14)...), '"')
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := scanner{b: text, i: 1}
		if err := s.str(); err != nil {
			b.Fatal(err)
		}
	}
}
