package mpack_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// scan hands b over in pieces and returns what the scanner says, which it must
// not say before the value is whole, nor after.
func scan(t *testing.T, s *mpack.Scanner, b []byte, rng *rand.Rand) (int, error) {
	t.Helper()
	for have := 0; ; {
		n, err := s.Scan(b[:have])
		again, same := s.Scan(b[:have])
		if again != n || same != err {
			t.Fatalf("% x: %d, %v; once more: %d, %v", b[:have], n, err, again, same)
		}
		if n > 0 || err != nil || have == len(b) {
			return n, err
		}
		// What it needs, it needs: one byte less is not enough.
		if few := min(have+s.Need()-1, len(b)); few > have {
			if n, err := s.Scan(b[:few]); n > 0 {
				t.Fatalf("% x: %d more bytes were needed, but %d are enough (%v)", b[:few], s.Need(), few-have, err)
			}
		}
		have += 1 + rng.IntN(min(1+rng.IntN(50), len(b)-have))
	}
}

func TestScannerLimits(t *testing.T) {
	tests := []struct {
		name string
		in   string
		lim  codec.Limits
		err  error
	}{
		{"the byte without meaning", "92 c0 c1", codec.Limits{}, codec.ErrByte},
		{"2^32-1 elements", "dd ffffffff", codec.Limits{}, codec.ErrElements},
		{"2^31 pairs", "df 80000000", codec.Limits{}, codec.ErrElements},
		{"elements summed up", "92 92 c0 c0 92", codec.Limits{Elements: 5}, codec.ErrElements},
		{"str of 4 GiB", "db ffffffff", codec.Limits{}, codec.ErrString},
		{"short str over a small limit", "a5", codec.Limits{String: 4}, codec.ErrString},
		{"ext over the limit", "d8", codec.Limits{String: 15}, nil},
		{"ext over the limit, its type there", "d8 05", codec.Limits{String: 15}, codec.ErrString},
		{"nested over the limit", "91 91 91 91", codec.Limits{Depth: 3}, codec.ErrDepth},
		{"an empty container counts", "91 91 91 80", codec.Limits{Depth: 3}, codec.ErrDepth},
		{"nested over what can be asked for", strings.Repeat("91", 1025), codec.Limits{Depth: 1 << 30}, codec.ErrDepth},
		{"a frame that a string ends behind", "91 d9 05", codec.Limits{Frame: 7}, codec.ErrTooLarge},
		{"and one that it fits", "91 d9 04", codec.Limits{Frame: 7}, nil},
		{"a frame that the elements take more than", "dc 0005", codec.Limits{Frame: 7}, codec.ErrTooLarge},
		{"and one that they fit", "dc 0004", codec.Limits{Frame: 7}, nil},
		{"a frame of many strings", "93 a3 616161 a3 616161", codec.Limits{Frame: 9}, codec.ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mpack.NewScanner(tt.lim)
			n, err := s.Scan(unhex(t, tt.in))
			if n != 0 || !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("Scan = %d, %v; want %v", n, err, tt.err)
			}
		})
	}
}

func TestScannerFindsEachValueOfAStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := mpack.NewScanner(codec.Limits{})
	for name, text := range everyType {
		b := unhex(t, text)
		s.Reset()
		if n, err := scan(t, &s, append(bytes.Clone(b), 0xc1, 0x91), rng); err != nil || n != len(b) {
			t.Errorf("%v: %d of %d bytes, %v", name, n, len(b), err)
		}
	}
}

// A large value that comes in small pieces is looked at once.
func TestScannerIsLinear(t *testing.T) {
	values := map[string][]byte{
		"nils":    append([]byte("\xdd\x00\x3f\xff\xff"), bytes.Repeat([]byte{0xc0}, 4<<20-1)...),
		"maps":    append([]byte("\xdd\x00\x10\x00\x00"), bytes.Repeat([]byte("\x81\xa1a\xc0"), 1<<20)...),
		"strings": append([]byte("\xdd\x00\x00\x80\x00"), bytes.Repeat(append([]byte("\xda\x03\xe8"), make([]byte, 1000)...), 1<<15)...),
	}
	for name, b := range values {
		t.Run(name, func(t *testing.T) {
			s := mpack.NewScanner(codec.Limits{})
			whole := func(piece int) time.Duration {
				s.Reset()
				start := time.Now()
				for have := piece; ; have = min(have+piece, len(b)) {
					n, err := s.Scan(b[:have])
					if err != nil || n != 0 && n != len(b) || n == 0 && have == len(b) {
						t.Fatalf("after %d bytes: %d, %v", have, n, err)
					}
					if n != 0 {
						return time.Since(start)
					}
				}
			}
			whole(len(b))
			if got := testing.AllocsPerRun(3, func() { whole(4096) }); got != 0 {
				t.Errorf("%v allocations", got)
			}
			// 8000 pieces: were what came before looked at again, this would take
			// thousands of times as long.
			once, pieces := whole(len(b)), whole(4096)
			if pieces > 50*once+time.Second {
				t.Errorf("%v at once, %v in pieces", once, pieces)
			}
		})
	}
}

// Check is the oracle: what it takes the scanner takes, to the same byte,
// however the bytes come, and what it refuses the scanner refuses or waits for.
func FuzzScanner(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4<<10 {
			t.Skip("small values find the same")
		}
		for _, lim := range []codec.Limits{{}, {Depth: 3, Elements: 20, String: 12}} {
			s := mpack.NewScanner(lim)
			got, err := scan(t, &s, b, rand.New(rand.NewPCG(uint64(len(b)), 1)))
			want, refused := mpack.Check(b, lim)
			switch {
			case refused == nil && (err != nil || got != want):
				t.Fatalf("Check takes %d bytes of % x, the scanner %d, %v", want, b, got, err)
			case refused != nil && got != 0:
				t.Fatalf("Check refuses % x (%v), the scanner takes %d bytes", b, refused, got)
			case refused == nil || errors.Is(refused, codec.ErrTruncated):
			case err == nil:
				t.Fatalf("Check refuses % x (%v), the scanner waits for more", b, refused)
			}
			var frame *codec.FrameError
			if err != nil && (!errors.As(err, &frame) || frame.Offset > len(b) || len(frame.Bytes) > 64) {
				t.Fatalf("error without evidence: %#v", err)
			}
		}
	})
}
