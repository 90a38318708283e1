package msgpackrpc_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
)

// Whatever a host writes and however its bytes come, the reader finds the
// messages that Check and the library find in them, then returns one error that
// says what is wrong, and sets no memory aside that the bytes do not justify.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "hello, world\n", "\x94", "\x93\x02\xa1a\xdd\xff\xff\xff\xff\xc0", "\x93\x02\xc4\x03ask\x90",
		"\x94\x00\x07\xa4echo\x93\x01\x02\x03\x93\x02\xa3say\xc0", "\x94\x01\x07\x92\x00\xa1x\xc0\x94\x01\x07\xc0\x93\x01\x02\x03",
		"\x94\x00\x07\xa1a\x90\x94\x00\x07\xa1b\x90", "\x94\x01\x00\xa4ouch\xc0", "\xdc\x00\x04\x01\xce\xff\xff\xff\xff\xc0\xd4\x00\x01",
		"\x93\x02\xa1a\x91\xd9\x05hello\x94\x01\x01\x81\xa1k\xc0\xc0", "\x93\x02\xa1a\x91\xda\x00\x05he",
	} {
		f.Add([]byte(s), uint64(1))
	}
	lim := codec.Limits{Frame: 1 << 20, Depth: 20}
	f.Fuzz(func(t *testing.T, b []byte, chunks uint64) {
		if len(b) > 64<<10 {
			t.Skip("small streams find the same")
		}
		r := open(lim).NewReader(&ragged{r: bytes.NewReader(b), rng: rand.New(rand.NewPCG(chunks, 0))})
		library := bytes.NewReader(b)
		var m codec.Message
		at := 0
		for {
			var err error
			if got := allocated(func() { err = r.Next(&m) }); got > 64<<10+100*uint64(len(b)) {
				t.Fatalf("%d bytes set aside for %d", got, len(b))
			}
			n, refused := mpack.Check(b[at:], lim)
			if err != nil {
				ending(t, r, err, b[at:], refused)
				return
			}
			if refused != nil || m.Size != n {
				t.Fatalf("a message of %d bytes; Check says %d, %v of % x", m.Size, n, refused, b[at:])
			}
			at += n
			if err := msgpack.NewDecoder(library).Skip(); err != nil || library.Len() != len(b)-at {
				t.Fatalf("%d bytes behind the message, the library has %d, %v", len(b)-at, library.Len(), err)
			}
			inspect(t, &m)
		}
	})
}

// ending holds the reader's last error against the bytes that it is about.
func ending(t *testing.T, r codec.Reader, err error, rest []byte, refused error) {
	t.Helper()
	var frame *codec.FrameError
	switch {
	case errors.Is(err, io.EOF):
		if len(rest) != 0 {
			t.Fatalf("EOF before % x", rest)
		}
	case !errors.As(err, &frame):
		t.Fatalf("neither EOF nor a FrameError: %v", err)
	case len(frame.Bytes) > 64 || frame.Detail == "":
		t.Fatalf("error without evidence: %#v", frame)
	case refused == nil && !errors.Is(err, codec.ErrShape) && !errors.Is(err, codec.ErrID) && !errors.Is(err, codec.ErrString):
		t.Fatalf("a value that Check takes: %v", err)
	}
	if again := r.Next(new(codec.Message)); again != err {
		t.Fatalf("after %v: %v", err, again)
	}
}

// inspect holds a message against what a Reader promises.
func inspect(t *testing.T, m *codec.Message) {
	t.Helper()
	for _, raw := range []codec.Raw{m.Params, m.Result} {
		if raw == nil {
			continue
		}
		if err := mpack.CheckAll(raw, codec.Limits{}); err != nil {
			t.Fatalf("%s: payload: %v", m.Kind, err)
		}
	}
	switch {
	case m.Kind > codec.Notification, (m.ID == 0) != (m.Kind == codec.Notification):
		t.Fatalf("kind %d, id %d", m.Kind, m.ID)
	case (m.Method == "") != (m.Kind == codec.Response), !utf8.ValidString(m.Method), len(m.Method) > msgpackrpc.MaxMethod:
		t.Fatalf("%s: method %q", m.Kind, m.Method)
	case m.Err != nil && (m.Kind != codec.Response || m.Result != nil || !utf8.ValidString(m.Err.Message)):
		t.Fatalf("%s: error %#v", m.Kind, m.Err)
	}
}

// What one side appends the other reads.
func FuzzMessageRoundTrip(f *testing.F) {
	f.Add(uint8(0), uint32(2), "echo", []byte("\x93\x01\x02\x03"), "")
	f.Add(uint8(1), uint32(1<<31), "", []byte("\xc0"), "")
	f.Add(uint8(1), uint32(9), "", []byte("\xa1x"), "Invalid method: x")
	f.Add(uint8(2), uint32(0), "log", []byte{}, "")
	f.Add(uint8(2), uint32(0), "log", []byte("\x07"), "")
	f.Fuzz(func(t *testing.T, kind uint8, id uint32, name string, value []byte, failed string) {
		raw := codec.Raw(value)
		if mpack.CheckAll(raw, codec.Limits{Depth: 100}) != nil || string(raw) == "\xc0" {
			raw = nil
		}
		here, there := open(codec.Limits{}), open(codec.Limits{})
		m := codec.Message{Kind: codec.Kind(kind % 3)}
		want := m
		switch m.Kind {
		case codec.Request, codec.Notification:
			m.Method, m.Params = name, raw
			want.Method = name
			switch {
			case raw == nil:
				want.Params = codec.Raw{0x90}
			case raw[0]&0xf0 == 0x90 || raw[0] == 0xdc || raw[0] == 0xdd:
				want.Params = raw
			default:
				want.Params = append(codec.Raw{0x91}, raw...)
			}
			if m.Kind == codec.Request {
				m.ID, want.ID = max(id, 1), 1
			}
		case codec.Response:
			// The other side asks under its own id, and gets the answer under it.
			ask, err := there.Append(nil, &codec.Message{Kind: codec.Request, ID: max(id, 1), Method: "m"})
			if err != nil {
				t.Fatal(err)
			}
			var asked codec.Message
			next(t, here.NewReader(bytes.NewReader(ask)), &asked)
			m.ID, want.ID = asked.ID, max(id, 1)
			m.Result, want.Result = raw, raw
			if failed != "" && utf8.ValidString(failed) && len(failed) < 1000 {
				m.Err, want.Result = &codec.Error{Message: failed}, nil
				want.Err = &codec.Error{Message: failed}
			}
		}
		out, err := here.Append(nil, &m)
		if err != nil {
			if m.Method != "" && len(m.Method) <= msgpackrpc.MaxMethod && utf8.ValidString(m.Method) {
				t.Fatalf("Append: %v", err)
			}
			return
		}
		var got codec.Message
		if err := there.NewReader(bytes.NewReader(out)).Next(&got); err != nil {
			t.Fatalf("Next: %v of % x", err, out)
		}
		want.Size = len(out)
		if got.Err != nil {
			got.Err.Name = "" // told from the message
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
