package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// cut returns what it has in pieces of many sizes.
type cut struct {
	b []byte
	n uint32
}

func (c *cut) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	c.n = c.n*1664525 + 1013904223
	n := copy(p[:min(len(p), 1+int(c.n>>20)%200)], c.b)
	c.b = c.b[n:]
	return n, nil
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// inspect holds a message against what a Reader promises.
func inspect(t *testing.T, m *codec.Message) {
	t.Helper()
	payloads := []codec.Raw{m.Params, m.Result}
	if m.Err != nil {
		payloads = append(payloads, m.Err.Data)
		if !utf8.ValidString(m.Err.Message) {
			t.Fatalf("error %q", m.Err.Message)
		}
	}
	for _, raw := range payloads {
		if raw != nil && (!json.Valid(raw) || string(raw) == "null") {
			t.Fatalf("%s: payload %q", m.Kind, raw)
		}
	}
	switch {
	case m.Kind > codec.Notification && m.Kind != codec.Cancel, m.ID == 0 && m.Kind != codec.Notification:
		t.Fatalf("kind %d, id %d", m.Kind, m.ID)
	case (m.Method == "") != (m.Kind != codec.Request && m.Kind != codec.Notification), !utf8.ValidString(m.Method), len(m.Method) > jsonrpc.MaxMethod:
		t.Fatalf("%s: method %q", m.Kind, m.Method)
	}
}

// readAll reads until the error that ends the reader.
func readAll(t *testing.T, s codec.Session, src io.Reader) (read int, err error) {
	t.Helper()
	r := s.NewReader(src)
	var m codec.Message
	for {
		if err = r.Next(&m); err != nil {
			if again := r.Next(&m); again != err {
				t.Fatalf("after %v: %v", err, again)
			}
			return read, err
		}
		read += m.Size
		inspect(t, &m)
	}
}

func checkEnd(t *testing.T, err error) {
	t.Helper()
	var frame *codec.FrameError
	switch {
	case errors.Is(err, io.EOF):
	case !errors.As(err, &frame):
		t.Fatalf("neither EOF nor a FrameError: %v", err)
	case len(frame.Bytes) > 64 || frame.Detail == "":
		t.Fatalf("error without evidence: %#v", frame)
	}
}

var bodies = []string{
	`{"jsonrpc":"2.0","id":2,"result":{"a":[1,2.5e3,null,"x\u00e9"]}}`,
	`{"jsonrpc":"2.0","id":"a","method":"m","params":[]}`,
	`{"jsonrpc":"2.0","method":"$/progress","params":{"token":2,"value":{}}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
	`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no","data":{}}}`,
	`[{"jsonrpc":"2.0","id":1,"method":"m"}, {"jsonrpc":"2.0","id":4,"result":null}]`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
	`{"level":30,"msg":"ready"}`, `[]`, `{`, `{"id":1.5,"method":"m"}`,
}

// Whatever a host writes, the readers return messages whose payloads are
// well-formed, then one error that says what is wrong, set no memory aside
// that the bytes do not justify, and say the same however the bytes come.
func FuzzReaders(f *testing.F) {
	for _, b := range bodies {
		f.Add([]byte(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(b), b)), uint32(1))
		f.Add([]byte("noise\n"+b+"\n"+b+"\r\n\n"), uint32(7))
	}
	f.Add([]byte("content-LENGTH: 99999999999999999999\r\n\r\n"), uint32(0))
	f.Add([]byte("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), uint32(0))
	f.Add([]byte("Content-Length: -1\n\n"), uint32(0))
	lim := codec.Limits{Frame: 1 << 20}
	f.Fuzz(func(t *testing.T, b []byte, cuts uint32) {
		for _, p := range []codec.Protocol{jsonrpc.Headers(jsonrpc.Options{}), jsonrpc.Lines(jsonrpc.Options{}), jsonrpc.Lines(jsonrpc.Options{FailOnNoise: true})} {
			var read int
			var err error
			noise := 0
			s := p.Open(lim).(*jsonrpc.Session)
			s.OnNoise(func(line []byte) { noise += len(line) })
			got := allocated(func() { read, err = readAll(t, s, &cut{b, cuts}) })
			if got > 512<<10+200*uint64(len(b)) {
				t.Fatalf("%s: %d bytes set aside for %d", p.Name(), got, len(b))
			}
			if read+noise > len(b) {
				t.Fatalf("%s: %d bytes of messages and %d of noise in %d", p.Name(), read, noise, len(b))
			}
			checkEnd(t, err)
			again, whole := readAll(t, p.Open(lim), bytes.NewReader(b))
			if again != read || !strings.HasPrefix(whole.Error(), strings.SplitN(err.Error(), ":", 2)[0]) {
				t.Fatalf("%s: in pieces %d bytes and %v, whole %d and %v", p.Name(), read, err, again, whole)
			}
		}
	})
}

// What Check accepts is what encoding/json accepts, but for bytes that are not
// UTF-8, which it would replace.
func FuzzCheck(f *testing.F) {
	for _, b := range bodies {
		f.Add([]byte(b))
	}
	for _, s := range []string{
		`"\ud800"`, `"\u12"`, `-0`, `01`, `1.`, `1e`, `-`, ` [ 1 , 2 ] `, `[1,]`, `{"a"}`, `{"a":1,}`, "\"\x7f\"", "\"\xff\"", "\"\x01\"",
		`"12345678\"1234567é12345678"`, `tru`, `truex`, `nul`, `[[[[]]]]`, `{"a":{"b":[{}]}}`, `1 2`, "\ufeff1", "", " ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := jsonrpc.Check(b, codec.Limits{Depth: jsonrpc.MaxDepth})
		want := json.Valid(b)
		switch {
		case errors.Is(err, codec.ErrDepth):
			return
		case (err == nil) != (want && utf8.Valid(b)):
			t.Fatalf("%q: %v, encoding/json: %v", b, err, want)
		}
		if err != nil {
			checkEnd(t, err)
			return
		}
		enc := jsonrpc.Encoding{}
		raw, err := enc.FromJSON(b)
		if err != nil {
			if errors.Is(err, codec.ErrDepth) {
				return
			}
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil || !bytes.Equal(compact.Bytes(), raw) {
			t.Fatalf("%q: %q, encoding/json: %q, %v", b, raw, compact.Bytes(), err)
		}
		var a, c any
		if err, want := enc.Unmarshal(raw, &a), json.Unmarshal(b, &c); (err == nil) != (want == nil) || !cmp.Equal(a, c) {
			t.Fatalf("%q: %v %v, encoding/json: %v %v", b, a, err, c, want)
		}
	})
}

// What is appended can be read, and says the same.
func FuzzMessages(f *testing.F) {
	f.Add(uint8(0), uint32(2), "m", []byte(`{"a": 1}`), int64(0), true)
	f.Add(uint8(0), uint32(2), "m", []byte("{\n\"_meta\":\r\n{\"x\":\"y\"}}"), int64(0), true)
	f.Add(uint8(0), uint32(9), "a\"\\\n", []byte(`{"workDoneToken":"t","_meta":{"progressToken":7}}`), int64(0), true)
	f.Add(uint8(1), uint32(2), "ö", []byte(`[1, 2]`), int64(-32601), false)
	f.Add(uint8(2), uint32(2), "m", []byte(`null`), int64(7), false)
	f.Add(uint8(3), uint32(2), "m", []byte(`{}`), int64(7), false)
	f.Fuzz(func(t *testing.T, kind uint8, id uint32, word string, value []byte, code int64, progress bool) {
		raw := codec.Raw(value)
		if jsonrpc.Check(raw, codec.Limits{Depth: 64}) != nil {
			raw = nil
		}
		for _, p := range []codec.Protocol{jsonrpc.Headers(jsonrpc.Options{}), jsonrpc.Lines(jsonrpc.Options{})} {
			s := p.Open(codec.Limits{})
			m := codec.Message{Kind: codec.Kind(kind % 3), ID: max(id, 1)}
			switch m.Kind {
			case codec.Request:
				m.Method, m.Params, m.Progress = word, raw, progress
			case codec.Notification:
				m.Method, m.Params, m.ID = word, raw, 0
			case codec.Response: // to a request that has to be there
				ask := p.Open(codec.Limits{})
				b, err := ask.Append(nil, &codec.Message{Kind: codec.Request, ID: m.ID, Method: "m"})
				if err != nil {
					t.Fatal(err)
				}
				var asked codec.Message
				if err := s.NewReader(bytes.NewReader(b)).Next(&asked); err != nil {
					t.Fatal(err)
				}
				m.ID = asked.ID
				if m.Result = raw; code != 0 {
					m.Result, m.Err = nil, &codec.Error{Code: code, Message: word, Data: raw}
				}
			}
			b, err := s.Append([]byte("before"), &m)
			if err != nil {
				if scalar := len(raw) > 0 && !bytes.ContainsAny(raw[:1], "{[ \t\r\n"); m.Kind != codec.Response &&
					(word == "" || len(word) > jsonrpc.MaxMethod || !utf8.ValidString(word) || scalar || len(bytes.TrimSpace(raw)) > 0 && !bytes.ContainsAny(bytes.TrimSpace(raw)[:1], "{[")) {
					return
				}
				t.Fatal(err)
			}
			b = b[len("before"):]
			var got codec.Message
			if err := p.Open(codec.Limits{}).NewReader(bytes.NewReader(b)).Next(&got); err != nil {
				if strings.HasPrefix(word, "$/cancel") || strings.HasPrefix(word, "notifications/cancel") {
					return
				}
				t.Fatalf("%v of %q", err, b)
			}
			if got.Size != len(b) || got.Kind != m.Kind && got.Kind != codec.Cancel || got.Method != m.Method {
				t.Fatalf("%+v of %q", got, b)
			}
			if got.Kind == codec.Response && m.Err != nil && (got.Err == nil || got.Err.Code != code || word != "" && utf8.ValidString(word) && got.Err.Message != word) {
				t.Fatalf("%+v of %q", got.Err, b)
			}
			if !progress && m.Kind != codec.Response && !same(got.Params, raw) {
				t.Fatalf("params %q of %q", got.Params, b)
			}
		}
	})
}

// same compares two payloads without regard to white space.
func same(a, b codec.Raw) bool {
	x, err1 := jsonrpc.Encoding{}.ToJSON(a)
	y, err2 := jsonrpc.Encoding{}.ToJSON(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// Whatever answers come, the handshake ends or asks on, and not forever.
func FuzzHandshake(f *testing.F) {
	f.Add([]byte(session), []byte(sessionless), int64(0), int64(0), false)
	f.Add([]byte(`{"supportedVersions":["2025-11-25"]}`), []byte(session), int64(0), int64(0), true)
	f.Add([]byte(`{"supported":[3]}`), []byte(`{"serverInfo":[]}`), int64(-32022), int64(-32601), true)
	f.Add([]byte(`{"_meta":{"io.modelcontextprotocol/serverInfo":7},"supportedVersions":["2026-07-28"]}`), []byte(`[]`), int64(0), int64(1), true)
	f.Fuzz(func(t *testing.T, first, second []byte, code1, code2 int64, newer bool) {
		var h codec.Hello
		if newer {
			h.Init = map[string]any{"protocolVersion": jsonrpc.SessionlessVersion}
		}
		for _, p := range []codec.Protocol{lsp, mcp} {
			s := p.Open(codec.Limits{})
			hs, _ := begin(t, s, h)
			ended := false
			for i, raw := range [][]byte{first, second, second} {
				m := codec.Message{Kind: codec.Response, ID: 1}
				if jsonrpc.Check(raw, codec.Limits{}) != nil {
					raw = nil
				}
				if code := []int64{code1, code2, code2}[i]; code != 0 {
					m.Err = &codec.Error{Code: code, Data: raw}
				} else {
					m.Result = raw
				}
				out, done, err := hs.Handle(&m)
				for i := range out {
					sent(t, s, &out[i])
				}
				if _, result := s.(*jsonrpc.Session).Opened(); done != (result != nil) || done && err != nil {
					t.Fatalf("%v, %v, opened with %q", done, err, result)
				}
				if ended = done || err != nil; ended {
					break
				}
			}
			if !ended {
				t.Fatal("three answers are not enough")
			}
		}
	})
}
