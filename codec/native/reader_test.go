package native_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// bin is a payload of about n bytes, all of them mark.
func bin(n int, mark byte) codec.Raw {
	return mpack.AppendBin(nil, bytes.Repeat([]byte{mark}, n))
}

// stream is notifications with payloads of the given sizes.
func stream(t testing.TB, sizes []int) []byte {
	t.Helper()
	s := native.Open(codec.Limits{})
	var b []byte
	for i, n := range sizes {
		var err error
		if b, err = s.Append(b, &codec.Message{Kind: codec.Notification, Method: fmt.Sprint("m", i%5), Params: bin(n, byte(i))}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// However the stream is cut into reads, the messages are the same, and what
// was handed out earlier stays as it was.
func TestReaderKeepsWhatItHandedOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 100, 4080, 4096, 5000, 70000, 200000, 10, 65536}
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
			r := native.Open(codec.Limits{}).NewReader(source(bytes.NewReader(b)))
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
				if !bytes.Equal(kept[i], bin(n, byte(i))) {
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
	first := 4 + int(binary.BigEndian.Uint32(b))
	src := &steps{steps: [][]byte{b[:first+2], b[first+2:]}}
	r := native.Open(codec.Limits{}).NewReader(src)
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
	for _, bad := range []string{"\x00\x00\x00\x00", "\xff\xff\xff\xff"} {
		src := &steps{steps: [][]byte{append(bytes.Clone(b[:first]), bad...)}}
		r := native.Open(codec.Limits{}).NewReader(src)
		next(t, r, &m)
		if !r.Buffered() {
			t.Errorf("length % x: Next would not wait, Buffered() = false", bad)
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
		r := native.Open(codec.Limits{}).NewReader(io.MultiReader(bytes.NewReader(b[:cut]), iotest.ErrReader(broken)))
		var m codec.Message
		var err error
		for err == nil {
			err = r.Next(&m)
		}
		if !errors.Is(err, broken) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	r := native.Open(codec.Limits{}).NewReader(stuck{})
	if err := r.Next(new(codec.Message)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a stream that returns nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestTruncatedStream(t *testing.T) {
	b := stream(t, []int{10, 100000})
	clean := map[int]bool{0: true, 4 + int(binary.BigEndian.Uint32(b)): true, len(b): true}
	for cut := 0; cut <= len(b); cut += 1 + cut/50 {
		r := native.Open(codec.Limits{}).NewReader(bytes.NewReader(b[:cut]))
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

// A length is only a claim: memory follows what arrives.
func TestClaimedLengthSetsNothingAside(t *testing.T) {
	claim := func(n uint32, more string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, n), more...)
	}
	tests := map[string]struct {
		in    []byte
		limit uint64
	}{
		"50 MiB, nothing comes":          {claim(50<<20, ""), 32 << 10},
		"50 MiB, 10 KB come":             {claim(50<<20, strings.Repeat("x", 10<<10)), 128 << 10},
		"50 MiB, 1 MiB comes":            {claim(50<<20, strings.Repeat("x", 1<<20)), 8 << 20},
		"over the limit":                 {claim(1<<32-1, "x"), 32 << 10},
		"an array of 2^32-1":             {claim(10, "\x93\x02\xa1a\xdd\xff\xff\xff\xff\xc0"), 32 << 10},
		"a method of 4 GiB":              {claim(8, "\x93\x02\xdb\xff\xff\xff\xff\xc0"), 32 << 10},
		"an error of 4 GiB":              {claim(9, "\x94\x01\x02\xc6\xff\xff\xff\xff\xc0"), 32 << 10},
		"a map of 2^32-1 as an error":    {claim(9, "\x94\x01\x02\xdf\xff\xff\xff\xff\xc0"), 32 << 10},
		"10 MB of nested arrays":         {claim(4+10<<20, "\x93\x02\xa1a"+strings.Repeat("\x91", 10<<20)), 32 << 20},
		"10 MB of nested causes":         {claim(3+7*(10<<17), "\x94\x01\x02"+strings.Repeat("\x81\xa5cause", 10<<17)), 32 << 20},
		"a million acks":                 {bytes.Repeat([]byte("\x00\x00\x00\x03\x92\x03\x02"), 1<<20), 128 << 10},
		"a million new methods":          {methods(1 << 20), 64 << 20},
		"10 MB of control bytes to show": {claim(9+10<<20, "\x94\x01\x02\xc6\x00\xa0\x00\x00"+strings.Repeat("\x01", 10<<20)+"\xc0"), 32 << 20},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, toSup, _, r, _ := pair(t, codec.CapAll)
			toSup.Write(tt.in)
			got := allocated(func() {
				var m codec.Message
				for r.Next(&m) == nil {
				}
			})
			if got > tt.limit {
				t.Errorf("%d bytes set aside for %d, at most %d expected", got, len(tt.in), tt.limit)
			}
		})
	}
}

// methods is n notifications, each with another method.
func methods(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, 0, 0, 0, 8, 0x93, 0x02, 0xa4, byte('a'+i&15), byte('a'+i>>4&15), byte('a'+i>>8&15), byte('a'+i>>12&15), 0xc0)
	}
	return b
}

// What the reader allocates, per message: nothing for acks and for messages
// without a payload, else a share of a block.
func TestReaderAllocations(t *testing.T) {
	tests := []struct {
		name string
		m    codec.Message
		max  float64
	}{
		{"ack", codec.Message{Kind: codec.Ack, ID: 77}, 0},
		{"request", codec.Message{Kind: codec.Request, ID: 77, Method: "textDocument/completion", Params: bin(100, 1)}, 0.1},
		{"request of nil", codec.Message{Kind: codec.Request, ID: 77, Method: "pid"}, 0},
		{"response", codec.Message{Kind: codec.Response, ID: 77, Result: bin(100, 1)}, 0.1},
		{"item", codec.Message{Kind: codec.Item, ID: 77, Result: bin(100, 1)}, 0.1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, host, toSup, _, r, _ := pair(t, codec.CapAll)
			const runs = 5000
			for range runs + 100 {
				send(t, host, toSup, tt.m)
			}
			var m codec.Message
			for range 90 {
				next(t, r, &m) // to the block's full size
			}
			if got := testing.AllocsPerRun(runs, func() { next(t, r, &m) }); got > tt.max {
				t.Errorf("%v allocations a message, at most %v expected", got, tt.max)
			}
		})
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	sup, _, _, _, _, _ := pair(t, codec.CapAll)
	buf := make([]byte, 0, 4096)
	for _, m := range []codec.Message{
		{Kind: codec.Request, ID: 70000, Method: "echo", Params: bin(100, 1), Trace: codec.Trace{Parent: "00-1-2-01", State: "a=b"}},
		{Kind: codec.Response, ID: 70000, Result: bin(100, 1)},
		{Kind: codec.Response, ID: 70000, Err: &codec.Error{Name: "E", Message: "m", Code: 5, Stack: "s", Cause: &codec.Error{Name: "F"}}},
		{Kind: codec.Notification, Method: "log", Params: bin(100, 1)},
		{Kind: codec.Ack, ID: 70000}, {Kind: codec.Cancel, ID: 70000}, {Kind: codec.Item, ID: 70000, Seq: 9}, {Kind: codec.Credit, ID: 70000, Credit: 9},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := sup.Append(buf, &m); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", m.Kind, n)
		}
	}
}
