package msgpackrpc_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
)

func open(lim codec.Limits) codec.Session { return msgpackrpc.New(msgpackrpc.Options{}).Open(lim) }

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func next(t testing.TB, r codec.Reader, m *codec.Message) {
	t.Helper()
	if err := r.Next(m); err != nil {
		t.Fatal(err)
	}
}

// bin is a payload of about n bytes, all of them mark.
func bin(n int, mark byte) codec.Raw {
	return mpack.AppendBin(nil, bytes.Repeat([]byte{mark}, n))
}

// dense is a payload of about n bytes that has no long string in it.
func dense(n int, mark byte) codec.Raw {
	b := mpack.AppendArray(nil, n/3)
	for range n / 3 {
		b = append(b, 0x92, mark&0x7f, 0xc0)
	}
	return b
}

// payload is the i-th of n bytes of a stream.
func payload(i, n int) codec.Raw {
	if i%2 == 0 {
		return dense(n, byte(i))
	}
	return append(mpack.AppendArray(nil, 1), bin(n, byte(i))...)
}

func stream(t testing.TB, sizes []int) []byte {
	t.Helper()
	s := open(codec.Limits{})
	var b []byte
	for i, n := range sizes {
		var err error
		if b, err = s.Append(b, &codec.Message{Kind: codec.Notification, Method: fmt.Sprint("m", i%5), Params: payload(i, n)}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// However the stream is cut into reads, the messages are the same, and what
// was handed out earlier stays as it was.
func TestReaderKeepsWhatItHandedOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 100, 4080, 4096, 4090, 5000, 70000, 200000, 200000, 10, 65536, 65536, 3, 1 << 20}
	for range 2000 {
		sizes = append(sizes, rng.IntN(300))
	}
	for range 20 {
		sizes = append(sizes, rng.IntN(100000))
	}
	b := stream(t, sizes)
	sources := map[string]func(io.Reader) io.Reader{
		"whole reads":           func(r io.Reader) io.Reader { return r },
		"one byte a read":       iotest.OneByteReader,
		"half of what is asked": iotest.HalfReader,
		"bytes with the EOF":    iotest.DataErrReader,
		"reads of any length":   func(r io.Reader) io.Reader { return &ragged{r: r, rng: rng} },
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			r := open(codec.Limits{}).NewReader(source(bytes.NewReader(b)))
			kept := make([]codec.Raw, 0, len(sizes))
			for i, n := range sizes {
				var m codec.Message
				if err := r.Next(&m); err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				if want := fmt.Sprint("m", i%5); m.Method != want || cap(m.Params) != len(m.Params) {
					t.Fatalf("message %d of %d bytes: %q, room for %d", i, n, m.Method, cap(m.Params)-len(m.Params))
				}
				kept = append(kept, m.Params)
			}
			for i, n := range sizes {
				if !bytes.Equal(kept[i], payload(i, n)) {
					t.Fatalf("message %d of %d bytes changed after it was handed out", i, n)
				}
			}
			var m codec.Message
			if err := r.Next(&m); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// ragged returns reads of any length, now and then none.
type ragged struct {
	r   io.Reader
	rng *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	if r.rng.IntN(5) == 0 {
		return 0, nil
	}
	return r.r.Read(p[:1+r.rng.IntN(len(p))])
}

func TestBuffered(t *testing.T) {
	b := stream(t, []int{10, 20, 30})
	first := len(stream(t, []int{10}))
	src := &steps{steps: [][]byte{b[:first+2], b[first+2:]}}
	r := open(codec.Limits{}).NewReader(src)
	var m codec.Message
	for i, want := range []struct{ before, after bool }{{false, false}, {false, true}, {true, false}} {
		if got := r.Buffered(); got != want.before {
			t.Errorf("before message %d: Buffered() = %v", i, got)
		}
		next(t, r, &m)
		if got := r.Buffered(); got != want.after {
			t.Errorf("after message %d: Buffered() = %v", i, got)
		}
	}
	if err := r.Next(&m); !errors.Is(err, io.EOF) || !r.Buffered() {
		t.Errorf("at the end: %v, Buffered() = %v", err, r.Buffered())
	}
	// What cannot become a message needs no more bytes.
	for _, bad := range []string{"hello", "\x94\x00\xdb\xff\xff\xff\xff"} {
		src := &steps{steps: [][]byte{append(bytes.Clone(b[:first]), bad...)}}
		r := open(codec.Limits{}).NewReader(src)
		next(t, r, &m)
		if !r.Buffered() {
			t.Errorf("% x: Next would not wait, Buffered() = false", bad)
		}
	}
}

// steps returns one of its slices a read.
type steps struct{ steps [][]byte }

func (s *steps) Read(p []byte) (int, error) {
	if len(s.steps) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.steps[0])
	if s.steps[0] = s.steps[0][n:]; len(s.steps[0]) == 0 {
		s.steps = s.steps[1:]
	}
	return n, nil
}

func TestReaderPassesTheStreamsErrorOn(t *testing.T) {
	broken := errors.New("broken pipe")
	b := stream(t, []int{10, 100000})
	for _, cut := range []int{0, 2, 10, len(b) - 1} {
		r := open(codec.Limits{}).NewReader(io.MultiReader(bytes.NewReader(b[:cut]), iotest.ErrReader(broken)))
		var m codec.Message
		var err error
		for err == nil {
			err = r.Next(&m)
		}
		if !errors.Is(err, broken) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	r := open(codec.Limits{}).NewReader(stuck{})
	if err := r.Next(new(codec.Message)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a stream that returns nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestTruncatedStream(t *testing.T) {
	b := stream(t, []int{10, 100000})
	clean := map[int]bool{0: true, len(stream(t, []int{10})): true, len(b): true}
	for cut := 0; cut <= len(b); cut += 1 + cut/50 {
		r := open(codec.Limits{}).NewReader(bytes.NewReader(b[:cut]))
		var m codec.Message
		var err error
		for err == nil {
			err = r.Next(&m)
		}
		if want := codec.ErrTruncated; clean[cut] != errors.Is(err, io.EOF) || !clean[cut] && !errors.Is(err, want) {
			t.Errorf("cut at %d of %d: %v", cut, len(b), err)
		}
	}
}

// allocated runs f and returns the bytes that it set aside.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A length is only a claim: memory follows what arrives, and what is over a
// limit is refused before it has come.
func TestClaimedLengthSetsNothingAside(t *testing.T) {
	tests := map[string]struct {
		in    string
		limit uint64
		err   error
	}{
		"a str of 50 MB, nothing comes":     {"\x93\x02\xa1a\xdb\x02\xf0\x00\x00", 32 << 10, codec.ErrTruncated},
		"a str of 50 MB, 10 KB come":        {"\x93\x02\xa1a\xdb\x02\xf0\x00\x00" + strings.Repeat("x", 10<<10), 128 << 10, codec.ErrTruncated},
		"a str of 50 MB, 1 MiB comes":       {"\x93\x02\xa1a\xdb\x02\xf0\x00\x00" + strings.Repeat("x", 1<<20), 8 << 20, codec.ErrTruncated},
		"a str of 4 GiB, 10 MiB come":       {"\x93\x02\xa1a\xdb\xff\xff\xff\xff" + strings.Repeat("x", 10<<20), 32 << 10, codec.ErrString},
		"an array of 2^32-1":                {"\x93\x02\xa1a\xdd\xff\xff\xff\xff\xc0", 32 << 10, codec.ErrElements},
		"a map of 2^32-1 as an error":       {"\x94\x01\x02\xdf\xff\xff\xff\xff\xc0", 32 << 10, codec.ErrElements},
		"a map of 2^32-1 as the id":         {"\x94\x01\xdf\xff\xff\xff\xff\xc0", 32 << 10, codec.ErrElements},
		"a message of 2^32-1 elements":      {"\xdd\xff\xff\xff\xff\xc0", 32 << 10, codec.ErrElements},
		"a method of 4 GiB":                 {"\x93\x02\xdb\xff\xff\xff\xff\xc0", 32 << 10, codec.ErrString},
		"10 MB of nested arrays":            {"\x93\x02\xa1a" + strings.Repeat("\x91", 10<<20), 32 << 10, codec.ErrDepth},
		"60 MB of strings, frame of 50 MiB": {"\x93\x02\xa1a\xdc\x00\x40" + strings.Repeat("\xdb\x00\x10\x00\x00"+strings.Repeat("x", 1<<20), 60), 350 << 20, codec.ErrTooLarge},
		"many notifications":                {strings.Repeat("\x93\x02\xa1a\xc0", 1<<18), 4 << 20, io.EOF},
		"many answers":                      {strings.Repeat("\x94\x01\x07\xc0\xc0", 1<<18), 128 << 10, io.EOF},
		"a megabyte as an error":            {"\x94\x01\x02\xdc\xff\xff" + strings.Repeat("\x01", 65535) + "\xc0", 1 << 20, io.EOF},
		"requests that are never answered":  {requests(1 << 16), 8 << 20, codec.ErrElements},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := open(codec.Limits{}).NewReader(strings.NewReader(tt.in))
			var err error
			got := allocated(func() {
				var m codec.Message
				for err == nil {
					err = r.Next(&m)
				}
			})
			if !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if got > tt.limit {
				t.Errorf("%d bytes set aside for %d, at most %d expected", got, len(tt.in), tt.limit)
			}
		})
	}
}

// requests is n requests with ids from 0.
func requests(n int) string {
	var b []byte
	for i := range n {
		b = append(mpack.AppendUint(append(b, "\x94\x00"...), uint64(i)), "\xa1a\x90"...)
	}
	return string(b)
}

// A large message that comes in small pieces takes time in proportion to its
// size, and so do its copies.
func TestReaderIsLinear(t *testing.T) {
	read := func(p codec.Raw, piece int) (time.Duration, uint64) {
		b, err := open(codec.Limits{}).Append(nil, &codec.Message{Kind: codec.Notification, Method: "m", Params: p})
		if err != nil {
			t.Fatal(err)
		}
		r := open(codec.Limits{}).NewReader(&pieces{b, piece})
		var m codec.Message
		start := time.Now()
		aside := allocated(func() { next(t, r, &m) })
		if !bytes.Equal(m.Params, p) {
			t.Fatalf("%d bytes came as others", len(p))
		}
		return time.Since(start), aside
	}
	for name, p := range map[string]codec.Raw{
		"one string":           append(mpack.AppendArray(nil, 1), bin(12<<20, 1)...),
		"millions of parts":    dense(3<<20, 1),
		"arrays within arrays": append(mpack.AppendArray(nil, 1), nested(1<<20)...),
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{100, 4 << 10} {
				d, aside := read(p, piece)
				if limit := 5*uint64(len(p)) + 64<<10; aside > limit {
					t.Errorf("%d bytes set aside for %d in pieces of %d", aside, len(p), piece)
				}
				// Were each piece to cost what came before it, this would take hours.
				if d > time.Minute {
					t.Errorf("%v for %d bytes in pieces of %d", d, len(p), piece)
				}
			}
		})
	}
}

// nested is n arrays, the most within each other that are allowed.
func nested(n int) codec.Raw {
	const depth = 100
	b := mpack.AppendArray(nil, n/depth)
	for range n / depth {
		b = append(b, bytes.Repeat([]byte{0x91}, depth)...)
		b = append(b, "\xa5hello"...)
	}
	return b
}

// pieces returns n bytes a read.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.b)
	p.b = p.b[n:]
	return n, nil
}
