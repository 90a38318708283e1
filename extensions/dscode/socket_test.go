package dscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/dscode"
)

// framed puts a length in front of body.
func framed(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func must(t testing.TB, s codec.Session, dst []byte, m codec.Message) []byte {
	t.Helper()
	b, err := s.Append(dst, &m)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	return b
}

// Whatever a socket brings comes out as its whole frames, in order, however it
// is cut, and then what is wrong with the rest.
func FuzzSocket(f *testing.F) {
	f.Add(append(framed("a"), framed("bc")...), uint64(1))
	f.Add([]byte("\x00\x00\x00\x00"), uint64(2))
	f.Add([]byte("\xff\x00\x00\x00abc"), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, cuts uint64) {
		if len(b) > inboxLimit/2 {
			return
		}
		in := newInbox()
		err := readFrames(&ragged{bytes.NewReader(b), rand.New(rand.NewPCG(cuts, 0))}, 7, in, make(chan struct{}, 1), nil)
		in.finish(io.EOF)
		got, rerr := io.ReadAll(readerFunc(in.read))
		if rerr != nil {
			t.Fatal(rerr)
		}
		var want []byte
		rest := b
		for len(rest) >= wire.Header {
			n := binary.BigEndian.Uint32(rest)
			if n == 0 || n > MaxFrame {
				break
			}
			large := wire.Header+int(n) > blockSize && len(rest) > wire.Header
			if uint64(len(rest)) < wire.Header+uint64(n) {
				break
			}
			if large {
				// Its head goes in front; how much of it is there depends on
				// how it came.
				if len(got) < len(want)+wire.LabelSize+4 || got[len(want)] != wire.Head {
					t.Fatalf("no head at %d", len(want))
				}
				k := int(binary.BigEndian.Uint32(got[len(want)+wire.LabelSize:]))
				got = append(got[:len(want):len(want)], got[len(want)+wire.LabelSize+4+k:]...)
			}
			want = append(append(want, wire.Label{What: wire.Frame, Conn: 7}.Append(nil)...), rest[:wire.Header+n]...)
			rest = rest[wire.Header+n:]
		}
		if !bytes.HasPrefix(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		got = got[len(want):]
		bad := len(rest) >= wire.Header && (binary.BigEndian.Uint32(rest) == 0 || binary.BigEndian.Uint32(rest) > MaxFrame)
		switch {
		case errors.Is(err, errNoFrame) != bad, bad && (len(got) == 0 || got[0] != wire.Head):
			t.Fatalf("%v, bad %v, and %q", err, bad, got)
		case !bad && !isEnd(err):
			t.Fatal(err)
		case !bad && len(got) > 0 && got[0] != wire.Head:
			t.Fatalf("%q more", got)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// ragged reads pieces of any size.
type ragged struct {
	r   io.Reader
	rng *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	return r.r.Read(p[:min(len(p), 1+r.rng.IntN(40))])
}
