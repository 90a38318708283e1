package blocks_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/codec/internal/blocks"
)

// frame is one of n bytes: its length in two of them, then a mark.
func frame(n int, mark byte) []byte {
	return append([]byte{byte(n >> 8), byte(n)}, bytes.Repeat([]byte{mark}, n-2)...)
}

// next takes a frame off r. told is what More hears of the bytes that lack.
func next(r *blocks.Reader, told func(missing int) int) ([]byte, error) {
	for {
		rest := r.Rest()
		missing := 2 - len(rest)
		if missing <= 0 {
			if missing = int(rest[0])<<8 | int(rest[1]) - len(rest); missing <= 0 {
				b := r.Take(len(rest) + missing)
				r.Settle()
				return b, nil
			}
		}
		if err := r.More(told(missing)); err != nil {
			return nil, err
		}
	}
}

// What was kept stays as it was, whether the length of a frame is known before it
// has come or not.
func TestReaderKeepsWhatWasTaken(t *testing.T) {
	sizes := []int{2, 3, 100, 4000, 4096, 4097, 9000, 60000, 2, 65535, 700, 65535, 65535, 5, 30000}
	for i := range 300 {
		sizes = append(sizes, 2+i*7%1500)
	}
	var stream []byte
	for i, n := range sizes {
		stream = append(stream, frame(n, byte(i))...)
	}
	for _, vague := range []bool{false, true} {
		told := func(missing int) int { return missing }
		if vague {
			told = func(missing int) int { return min(missing, 3) }
		}
		for name, src := range map[string]io.Reader{
			"whole reads":     bytes.NewReader(stream),
			"one byte a read": iotest.OneByteReader(bytes.NewReader(stream)),
			"half a read":     iotest.HalfReader(bytes.NewReader(stream)),
		} {
			t.Run(fmt.Sprintf("%s, vague %t", name, vague), func(t *testing.T) {
				r := blocks.New(src)
				r.Vague = vague
				var kept [][]byte
				for i, n := range sizes {
					b, err := next(&r, told)
					if err != nil || len(b) != n || cap(b) != n {
						t.Fatalf("frame %d of %d bytes: %d with room for %d, %v", i, n, len(b), cap(b), err)
					}
					if i%3 > 0 {
						r.Kept = true
						kept = append(kept, b)
					}
				}
				for i, n := range sizes {
					if i%3 == 0 {
						continue
					}
					if !bytes.Equal(kept[0], frame(n, byte(i))) {
						t.Fatalf("frame %d of %d bytes changed after it was taken", i, n)
					}
					kept = kept[1:]
				}
				if _, err := next(&r, told); !errors.Is(err, io.EOF) || len(r.Rest()) > 0 {
					t.Errorf("at the end: %v, %d bytes left", err, len(r.Rest()))
				}
			})
		}
	}
}
