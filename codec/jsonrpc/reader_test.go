package jsonrpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

func headers(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

var (
	lsp = jsonrpc.Headers(jsonrpc.Options{})
	mcp = jsonrpc.Lines(jsonrpc.Options{})
)

// messages reads all there is; sizes are left out.
func messages(s codec.Session, src io.Reader) (all []codec.Message, err error) {
	r := s.NewReader(src)
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return all, err
		}
		m.Size = 0
		all = append(all, m)
	}
}

// What the two framings make of the same messages.
func TestMessages(t *testing.T) {
	notFound := &codec.Error{Name: codec.NameMethodNotFound, Code: -32601, Message: "no m"}
	for body, want := range map[string][]codec.Message{
		`{"jsonrpc":"2.0","id":7,"result":{"a":1}}`:                                {{Kind: codec.Response, ID: 7, Result: codec.Raw(`{"a":1}`)}},
		` { "result" : [ ] , "id" : 7 } `:                                          {{Kind: codec.Response, ID: 7, Result: codec.Raw(`[ ]`)}},
		`{"jsonrpc":"2.0","id":7,"result":null}`:                                   {{Kind: codec.Response, ID: 7}},
		`{"jsonrpc":"2.0","id":7}`:                                                 {{Kind: codec.Response, ID: 7}},
		`{"id":7,"result":0,"error":null}`:                                         {{Kind: codec.Response, ID: 7, Result: codec.Raw(`0`)}},
		`{"id":1,"result":1,"id":7,"result":2}`:                                    {{Kind: codec.Response, ID: 7, Result: codec.Raw(`2`)}},
		`{"\u0069d":7,"result":2,"x":{"id":8}}`:                                    {{Kind: codec.Response, ID: 7, Result: codec.Raw(`2`)}},
		`{"id":7,"error":{"code":-32601,"message":"no m"},"result":null}`:          {{Kind: codec.Response, ID: 7, Err: notFound}},
		`{"id":7,"error":{"code":-32800,"message":"gone","data":[1]}}`:             {{Kind: codec.Response, ID: 7, Err: &codec.Error{Name: codec.NameCancelled, Code: -32800, Message: "gone", Data: codec.Raw(`[1]`)}}},
		`{"id":7,"error":"broken"}`:                                                {{Kind: codec.Response, ID: 7, Err: &codec.Error{Message: "broken"}}},
		`{"id":7,"error":{"code":1.0,"message":["x"]}}`:                            {{Kind: codec.Response, ID: 7, Err: &codec.Error{Code: 1, Message: `["x"]`}}},
		`{"jsonrpc":"2.0","method":"m","params":{"x":"\ud83d\ude00"}}`:             {{Kind: codec.Notification, Method: "m", Params: codec.Raw(`{"x":"\ud83d\ude00"}`)}},
		`{"jsonrpc":"2.0","method":"m\u0021","params":null}`:                       {{Kind: codec.Notification, Method: "m!"}},
		`{"id":"x","method":"m"}`:                                                  {{Kind: codec.Request, ID: 1, Method: "m"}},
		`{"id":123456789012345678901234567890,"method":"m"}`:                       {{Kind: codec.Request, ID: 1, Method: "m"}},
		`[{"id":-1,"method":"a"},{"id":7,"result":1} , {"method":"b"}]`:            {{Kind: codec.Request, ID: 1, Method: "a"}, {Kind: codec.Response, ID: 7, Result: codec.Raw(`1`)}, {Kind: codec.Notification, Method: "b"}},
		`{"method":"$/progress","params":{"token":7}}`:                             {{Kind: codec.Notification, Method: "$/progress", Params: codec.Raw(`{"token":7}`)}},
		`{"method":"notifications/progress","params":{"progressToken":7}}`:         {{Kind: codec.Notification, Method: "notifications/progress", Params: codec.Raw(`{"progressToken":7}`)}},
		`{"jsonrpc":"2.0","id":0,"method":"m","params":[1]}`:                       {{Kind: codec.Request, ID: 1, Method: "m", Params: codec.Raw(`[1]`)}},
		`{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 100_000) + `"}`: {{Kind: codec.Response, ID: 7, Result: codec.Raw(`"` + strings.Repeat("x", 100_000) + `"`)}},
	} {
		for _, src := range []io.Reader{strings.NewReader(headers(body)), &cut{[]byte(headers(body)), 3}} {
			if got, err := messages(lsp.Open(codec.Limits{}), src); !errors.Is(err, io.EOF) || !reflect.DeepEqual(want, got) {
				t.Errorf("behind headers: %.100s: %v %s", body, err, cmp.Diff(want, got))
			}
		}
		for _, line := range []string{body, body + "\n", "\r\n" + body + "\r\n\n"} {
			if got, err := messages(mcp.Open(codec.Limits{}), strings.NewReader(line)); !errors.Is(err, io.EOF) || !reflect.DeepEqual(want, got) {
				t.Errorf("on a line: %.100s: %v %s", body, err, cmp.Diff(want, got))
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	body := `{"id":7,"result":1}`
	for _, head := range []string{
		"Content-Length: 19\r\n\r\n", "content-length:19\n\n", "CONTENT-LENGTH: \t19 \r\nX-Other: y\r\n\r\n",
		"Content-Length: 19\r\nContent-Length: 0019\r\n\r\n",
		"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 19\r\n\r\n",
		"Content-Type: application/vscode-jsonrpc; charset=\"UTF8\"\r\nContent-Length: 19\r\n\r\n",
	} {
		all, err := messages(lsp.Open(codec.Limits{}), strings.NewReader(head+body+head+body))
		if !errors.Is(err, io.EOF) || len(all) != 2 {
			t.Errorf("%q: %d messages, %v", head, len(all), err)
		}
	}
}

// Each lie and each half of something is named.
func TestBadBytes(t *testing.T) {
	both := func(body string) []string { return []string{headers(body), body + "\n"} }
	for _, c := range []struct {
		in   []string // behind headers, on lines; one is for headers alone
		is   error
		says string
	}{
		{[]string{"Content-Length: -1\r\n\r\n"}, codec.ErrShape, `"-1", a number of bytes expected`},
		{[]string{"Content-Length: 1.5\r\n\r\n"}, codec.ErrShape, `"1.5"`},
		{[]string{"Content-Length:\r\n\r\n"}, codec.ErrShape, "without a number"},
		{[]string{"Content-Length: 99999999999999999999999\r\n\r\n"}, codec.ErrTooLarge, "9999"},
		{[]string{"Content-Length: 60000000\r\n\r\n{"}, codec.ErrTooLarge, "limit 52428800"},
		{[]string{"Content-Length: 0\r\n\r\n"}, codec.ErrEmpty, "Content-Length: 0"},
		{[]string{"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"}, codec.ErrShape, "twice: 2 and 3"},
		{[]string{"Content-Type: x; charset=latin1\r\nContent-Length: 2\r\n\r\n{}"}, codec.ErrShape, "latin1"},
		{[]string{"Server: x\r\n\r\n{}"}, codec.ErrShape, `without Content-Length: "Server: x"`},
		{[]string{"\r\n{}"}, codec.ErrShape, "without Content-Length"},
		{[]string{"Starting the server\nContent-Length: 2\r\n\r\n{}"}, codec.ErrShape, `"Starting the server"`},
		{[]string{"[INFO] no line end"}, codec.ErrShape, `"[INFO] no line end"`},
		{[]string{`{"jsonrpc":"2.0","method":"m"}` + "\n"}, codec.ErrShape, "jsonrpc-lines"},
		{[]string{strings.Repeat("A: b\r\n", 40)}, codec.ErrTooLarge, "32 lines"},
		{[]string{"A: " + strings.Repeat("b", 10_000)}, codec.ErrTooLarge, "8192 bytes"},
		{[]string{"Content-Le"}, codec.ErrTruncated, `within a header: "Content-Le"`},
		{[]string{"Content-Length: 10\r\n\r\n{\"id\""}, codec.ErrTruncated, "5 of a message's 10 bytes"},
		{[]string{"Content-Length: 100000\r\n\r\n{\"id\""}, codec.ErrTruncated, "5 of a message's 100000 bytes"},
		{[]string{headers(`{"level":1}`)}, codec.ErrShape, "neither a method nor an id"},
		{[]string{"", `{"id":7,"result":[1,2`}, codec.ErrTruncated, "the stream ended within a message, after 21 bytes"},
		{[]string{"", `{"id":7,"resu` + "\n" + `lt":1}`}, codec.ErrTruncated, "within a value"},

		{both(`{"id":7,"result":1}}`), codec.ErrTrailing, `"}"`},
		{both(`{"id":7,"result":1`), codec.ErrTruncated, "within a value"},
		{both(`{"id":7,"result":01}`), codec.ErrByte, "JSON expected"},
		{both(`{"id":7,"result":"` + "\xff" + `"}`), codec.ErrByte, "0xff within a string is not UTF-8"},
		{both(`{"id":7,"result":"\x"}`), codec.ErrByte, "within a string"},
		{both(`{"id":7,"result":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`), codec.ErrDepth, "limit 128"},
		{both(`{}`)[:1], codec.ErrShape, "neither a method nor an id"},
		{both(`[{"id":7}`), codec.ErrTruncated, ""},
		{both(`[{"id":7}{"id":8}]`), codec.ErrByte, "JSON expected"},
		{both(`[{"id":7},3]`), codec.ErrShape, "a message is an object"},
		{both(`[]`)[:1], codec.ErrShape, "a batch of no messages"},
		{both(`3`)[:1], codec.ErrShape, "a message is an object"},
		{both(`{"jsonrpc":"1.0","id":7,"result":1}`), codec.ErrShape, `jsonrpc is "\"1.0\""`},
		{both(`{"jsonrpc":"2.0"}`), codec.ErrShape, "neither a method nor an id"},
		{both(`{"id":7,"result":1,"error":{"code":1,"message":"x"}}`), codec.ErrShape, "both a result and an error"},
		{both(`{"id":7,"method":"m","result":1}`), codec.ErrShape, `method "m" beside a result`},
		{both(`{"id":7,"method":4}`), codec.ErrShape, "method is"},
		{both(`{"id":7,"method":""}`), codec.ErrShape, "method is"},
		{both(`{"id":null,"method":"m"}`), codec.ErrShape, `request "m" with id "null"`},
		{both(`{"id":1.5,"method":"m"}`), codec.ErrShape, `request "m" with id "1.5"`},
		{both(`{"id":[1],"method":"m"}`), codec.ErrShape, "a string or an integer expected"},
		{both(`{"id":"` + strings.Repeat("x", 2000) + `","method":"m"}`), codec.ErrString, "id of 2002 bytes, limit 1024"},
		{both(`{"method":"` + strings.Repeat("x", 2000) + `"}`), codec.ErrString, "method of 2000 bytes, limit 1024"},
		{both(`{"id":"7","result":1}`), codec.ErrID, `response to request "\"7\""`},
		{both(`{"id":0,"result":1}`), codec.ErrID, "response to request"},
		{both(`{"id":99999999999,"result":1}`), codec.ErrID, "response to request"},
		{both(`{"id":null,"result":1}`), codec.ErrID, "response with id null"},
		{both(`{"id":null,"error":{"code":-32700,"message":"Parse error"}}`), codec.ErrShape, `the host could not read what we sent: "Parse error" (code -32700)`},
		{both(`{"error":{"code":-32600,"message":"What?"}}`), codec.ErrShape, `the host could not read what we sent: "What?"`},
		{both(`[{"id":"a","method":"m"},{"id":"a","method":"m"}]`), codec.ErrID, "an earlier one of this id is not answered"},
	} {
		for i, in := range c.in {
			if in == "" {
				continue
			}
			p := []codec.Protocol{lsp, mcp}[i]
			_, err := messages(p.Open(codec.Limits{}), strings.NewReader(in))
			var frame *codec.FrameError
			if !errors.Is(err, c.is) || !errors.As(err, &frame) || !strings.Contains(err.Error(), c.says) || len(frame.Bytes) > 64 {
				t.Errorf("%s: %.80q: %v\n  expected %v with %s", p.Name(), in, err, c.is, c.says)
			}
		}
	}
}

// Limits are those that the session was opened with.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		lim  codec.Limits
		body string
		is   error
	}{
		{codec.Limits{Frame: 20}, `{"id":7,"result":"0123456789"}`, codec.ErrTooLarge},
		{codec.Limits{Depth: 2}, `{"id":7,"result":[[1]]}`, codec.ErrDepth},
		{codec.Limits{Elements: 8}, `{"id":7,"result":[1,2,3,4,5]}`, codec.ErrElements},
		{codec.Limits{Elements: 3}, `[{"id":7},{"id":8}]`, codec.ErrElements},
		{codec.Limits{String: 9}, `{"id":7,"result":"0123456789"}`, codec.ErrString},
		{codec.Limits{String: 9}, `{"id":7,"result":{"0123456789":1}}`, codec.ErrString},
	} {
		for _, p := range []codec.Protocol{lsp, mcp} {
			in := c.body + "\n"
			if p == lsp {
				in = headers(c.body)
			}
			if _, err := messages(p.Open(c.lim), strings.NewReader(in)); !errors.Is(err, c.is) {
				t.Errorf("%s, %+v: %s: %v", p.Name(), c.lim, c.body, err)
			}
			if all, err := messages(p.Open(codec.Limits{}), strings.NewReader(in)); !errors.Is(err, io.EOF) || len(all) == 0 {
				t.Errorf("%s, default limits: %s: %v", p.Name(), c.body, err)
			}
		}
	}
}

// endless is a line without an end, or a header that keeps its promise.
type endless struct {
	start string
	with  byte
	left  int
}

// block is some of what comes.
func (e *endless) block() []byte {
	return map[byte][]byte{'x': xs, ' ': blanks, '\n': feeds}[e.with]
}

var xs, blanks, feeds = bytes.Repeat([]byte("x"), 64<<10), bytes.Repeat([]byte(" "), 64<<10), bytes.Repeat([]byte("\n"), 64<<10)

func (e *endless) Read(p []byte) (int, error) {
	if e.start != "" {
		n := copy(p, e.start)
		e.start = e.start[n:]
		return n, nil
	}
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	e.left -= n
	for i := 0; i < n; {
		i += copy(p[i:n], e.block())
	}
	return n, nil
}

// 100 MB that are over the limit, or noise, take no memory.
func TestFlatMemory(t *testing.T) {
	const size = 100 << 20
	for _, c := range []struct {
		name string
		p    codec.Protocol
		src  *endless
		is   error
	}{
		{"a line over the limit", mcp, &endless{`{"id":7,"result":"`, 'x', size}, codec.ErrTooLarge},
		{"noise without an end", mcp, &endless{"noise", 'x', size}, io.EOF},
		{"noise to fail on", jsonrpc.Lines(jsonrpc.Options{FailOnNoise: true}), &endless{"noise", 'x', size}, codec.ErrShape},
		{"blanks without an end", mcp, &endless{"", ' ', size / 10}, io.EOF},
		{"empty lines", mcp, &endless{"", '\n', size / 10}, io.EOF},
		{"a body over the limit", lsp, &endless{"Content-Length: 104857600\r\n\r\n", 'x', size}, codec.ErrTooLarge},
		{"a header without an end", lsp, &endless{"X: ", 'x', size}, codec.ErrTooLarge},
	} {
		var err error
		got := allocated(func() { _, err = messages(c.p.Open(codec.Limits{Frame: 256 << 10}), c.src) })
		if !errors.Is(err, c.is) || got > 2<<20 {
			t.Errorf("%s: %v, %d bytes set aside", c.name, err, got)
		}
	}
	// A promise alone takes little.
	got := allocated(func() {
		_, err := messages(lsp.Open(codec.Limits{}), strings.NewReader("Content-Length: 50000000\r\n\r\n{"))
		if !errors.Is(err, codec.ErrTruncated) {
			t.Error(err)
		}
	})
	if got > 512<<10 {
		t.Errorf("%d bytes set aside for a promise of 50 MB", got)
	}
}

// A long message that comes a few bytes at a time is looked at once.
func TestLinear(t *testing.T) {
	body := `{"id":7,"result":"` + strings.Repeat("x", 5<<20) + `"}`
	for _, p := range []codec.Protocol{lsp, mcp} {
		in := body + "\n"
		if p == lsp {
			in = headers(body)
		}
		begun := time.Now()
		all, err := messages(p.Open(codec.Limits{}), &cut{[]byte(in), 1})
		if !errors.Is(err, io.EOF) || len(all) != 1 || len(all[0].Result) != 5<<20+2 {
			t.Errorf("%s: %d messages, %v", p.Name(), len(all), err)
		}
		// Looking at all of it again with each piece takes hours.
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s: 5 MB took %s", p.Name(), took)
		}
	}
}

// A payload that was handed out stays as it is.
func TestPayloadsAreKept(t *testing.T) {
	for _, p := range []codec.Protocol{lsp, mcp} {
		var in bytes.Buffer
		var want []string
		for i := range 2000 {
			want = append(want, fmt.Sprintf(`"%d %s"`, i, strings.Repeat("y", i%7*i)))
			body := fmt.Sprintf(`{"id":%d,"result":%s}`, i+1, want[i])
			if p == lsp {
				in.WriteString(headers(body))
			} else {
				in.WriteString(body + "\n")
			}
		}
		all, err := messages(p.Open(codec.Limits{}), &cut{in.Bytes(), 5})
		if !errors.Is(err, io.EOF) || len(all) != len(want) {
			t.Fatalf("%s: %d messages, %v", p.Name(), len(all), err)
		}
		for i, m := range all {
			if string(m.Result) != want[i] {
				t.Fatalf("%s: message %d: %.40q", p.Name(), i, m.Result)
			}
		}
	}
}

func TestNoise(t *testing.T) {
	long := strings.Repeat("n", 200_000)
	in := "Server ready\r\n[INFO] listening\n\n  {\"id\":7}\n{\"level\":30,\"msg\":\"x\"}\n" + long + "\n[1, 2]\n{\"id\":8}\nlast"
	var heard []string
	s := mcp.Open(codec.Limits{}).(*jsonrpc.Session)
	s.OnNoise(func(line []byte) {
		if len(line) > 64<<10 {
			t.Errorf("%d bytes at once", len(line))
		}
		heard = append(heard, string(line))
	})
	all, err := messages(s, strings.NewReader(in))
	if !errors.Is(err, io.EOF) || len(all) != 2 || all[0].ID != 7 || all[1].ID != 8 {
		t.Errorf("%v, %v", all, err)
	}
	if got, want := strings.Join(heard, "|"), `Server ready|[INFO] listening|{"level":30,"msg":"x"}|`; !strings.HasPrefix(got, want) {
		t.Errorf("heard %.200q", got)
	}
	if got, want := strings.Join(heard, ""), long+"[1, 2]last"; !strings.HasSuffix(got, want) {
		t.Errorf("heard at the end %.200q", got[max(0, len(got)-200):])
	}
	// Nobody has to listen; and all of these can be errors.
	if all, err := messages(mcp.Open(codec.Limits{}), strings.NewReader(in)); len(all) != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("without a listener: %v, %v", all, err)
	}
	for _, line := range []string{"Server ready", "[INFO] x", `{"level":30}`, long} {
		_, err := messages(jsonrpc.Lines(jsonrpc.Options{FailOnNoise: true}).Open(codec.Limits{}), strings.NewReader("{\"id\":7}\n"+line+"\n"))
		if !errors.Is(err, codec.ErrShape) || !strings.Contains(err.Error(), "a line that is no message: ") {
			t.Errorf("%.40s: %v", line, err)
		}
	}
	if all, err := messages(mcp.Open(codec.Limits{}), strings.NewReader("\ufeff{\"id\":7}\n")); len(all) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("behind a byte order mark: %v, %v", all, err)
	}
}

// Buffered tells when Next has what it needs.
func TestBuffered(t *testing.T) {
	for _, p := range []codec.Protocol{lsp, mcp} {
		one, half := headers(`{"id":7}`), headers(`{"id":8}`)[:20]
		if p == mcp {
			one, half = "{\"id\":7}\n", "noise\n{\"id\""
		}
		src, dst := io.Pipe()
		go func() {
			_, _ = dst.Write([]byte(one + one + half)) // the reader tells
			dst.Close()
		}()
		r := p.Open(codec.Limits{}).NewReader(src)
		var m codec.Message
		for i, want := range []bool{true, false} {
			if err := r.Next(&m); err != nil || r.Buffered() != want {
				t.Fatalf("%s: message %d: %v, buffered %v", p.Name(), i, err, r.Buffered())
			}
		}
		if err := r.Next(&m); !errors.Is(err, codec.ErrTruncated) || !r.Buffered() {
			t.Errorf("%s: at the end: %v, buffered %v", p.Name(), err, r.Buffered())
		}
	}
}
