package jsonrpc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// sent is what a session makes of messages, without headers.
func sent(t *testing.T, s codec.Session, m *codec.Message) string {
	t.Helper()
	b, err := s.Append(nil, m)
	if err != nil {
		t.Fatalf("%s %s: %v", m.Kind, m.Method, err)
	}
	if _, body, found := strings.Cut(string(b), "\r\n\r\n"); found {
		if want := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body); want != string(b) {
			t.Fatalf("%q", b)
		}
		return body
	}
	return strings.TrimSuffix(string(b), "\n")
}

func TestAppend(t *testing.T) {
	raw := func(s string) codec.Raw { return codec.Raw(s) }
	for _, c := range []struct {
		m        codec.Message
		lsp, mcp string // "": as LSP
	}{
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m"}, `{"jsonrpc":"2.0","id":5,"method":"m"}`, ""},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Params: raw("null")}, `{"jsonrpc":"2.0","id":5,"method":"m"}`, ""},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "a\"\n", Params: raw("[1]")}, `{"jsonrpc":"2.0","id":5,"method":"a\"\n","params":[1]}`, ""},
		{codec.Message{Kind: codec.Notification, Method: "m", Params: raw(`{"a":1}`)}, `{"jsonrpc":"2.0","method":"m","params":{"a":1}}`, ""},
		{codec.Message{Kind: codec.Notification, Method: "m", Params: raw("{\r\n}")}, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\r\n}}", `{"jsonrpc":"2.0","method":"m","params":{  }}`},
		{codec.Message{Kind: codec.Cancel, ID: 5}, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"nobody waits for the result any more"}}`},

		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true},
			`{"jsonrpc":"2.0","id":5,"method":"m"}`, `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"progressToken":5}}}`},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw("[]")},
			`{"jsonrpc":"2.0","id":5,"method":"m","params":[]}`, ""},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw(" { } ")},
			`{"jsonrpc":"2.0","id":5,"method":"m","params": {"workDoneToken":5 } }`, `{"jsonrpc":"2.0","id":5,"method":"m","params": {"_meta":{"progressToken":5} } }`},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw(`{"a":1}`)},
			`{"jsonrpc":"2.0","id":5,"method":"m","params":{"workDoneToken":5,"a":1}}`, `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"progressToken":5},"a":1}}`},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw(`{"a":1,"_meta":{"x":2}}`)},
			`{"jsonrpc":"2.0","id":5,"method":"m","params":{"workDoneToken":5,"a":1,"_meta":{"x":2}}}`, `{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":1,"_meta":{"progressToken":5,"x":2}}}`},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw(`{"_meta":{},"workDoneToken":"t"}`)},
			`{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{},"workDoneToken":"t"}}`, `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"progressToken":5},"workDoneToken":"t"}}`},
		{codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: raw(`{"_meta":{"progressToken":"p"}}`)},
			`{"jsonrpc":"2.0","id":5,"method":"m","params":{"workDoneToken":5,"_meta":{"progressToken":"p"}}}`, `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"progressToken":"p"}}}`},
	} {
		if got := sent(t, lsp.Open(codec.Limits{}), &c.m); got != c.lsp {
			t.Errorf("LSP: %s\n expected %s", got, c.lsp)
		}
		if c.mcp == "" {
			c.mcp = c.lsp
		}
		if got := sent(t, mcp.Open(codec.Limits{}), &c.m); got != c.mcp {
			t.Errorf("MCP: %s\n expected %s", got, c.mcp)
		}
	}
}

// What cannot be said is an error that leaves the buffer as it was.
func TestAppendRefuses(t *testing.T) {
	for _, c := range []struct {
		m    codec.Message
		is   error
		says string
	}{
		{codec.Message{Kind: codec.Request, Method: "m"}, codec.ErrShape, "request without an id"},
		{codec.Message{Kind: codec.Request, ID: 1}, codec.ErrShape, "method: empty"},
		{codec.Message{Kind: codec.Notification, Method: strings.Repeat("m", 1025)}, codec.ErrString, "1025 bytes"},
		{codec.Message{Kind: codec.Notification, Method: "\xff"}, codec.ErrShape, "not UTF-8"},
		{codec.Message{Kind: codec.Request, ID: 1, Method: "m", Params: codec.Raw("3")}, codec.ErrShape, "an object or an array expected"},
		{codec.Message{Kind: codec.Request, ID: 1, Method: "m", Params: codec.Raw(`["` + strings.Repeat("x", 1000) + `"]`)}, codec.ErrTooLarge, "limit 1000"},
		{codec.Message{Kind: codec.Response, ID: 1}, codec.ErrID, "did not make"},
		{codec.Message{Kind: codec.Ack, ID: 1}, codec.ErrShape, "ack"},
		{codec.Message{Kind: codec.Item, ID: 1}, codec.ErrShape, "item"},
		{codec.Message{Kind: codec.Credit, ID: 1}, codec.ErrShape, "credit"},
	} {
		for _, p := range []codec.Protocol{lsp, mcp} {
			b, err := p.Open(codec.Limits{Frame: 1000}).Append([]byte("before"), &c.m)
			var frame *codec.FrameError
			if !errors.Is(err, c.is) || !errors.As(err, &frame) || !strings.Contains(err.Error(), c.says) || string(b) != "before" {
				t.Errorf("%s %s: %v, %q", c.m.Kind, c.m.Method, err, b)
			}
		}
	}
}

// A host's requests are answered under the ids that it gave, once.
func TestRequestsOfTheHost(t *testing.T) {
	for _, p := range []codec.Protocol{lsp, mcp} {
		s := p.Open(codec.Limits{})
		src, dst := io.Pipe()
		defer dst.Close()
		r := s.NewReader(src)
		read := func(body string) (m codec.Message, err error) {
			t.Helper()
			if p == lsp {
				body = headers(body)
			} else {
				body += "\n"
			}
			go dst.Write([]byte(body)) //nolint:errcheck // the reader tells
			err = r.Next(&m)
			return m, err
		}
		cancel := func(id string) string {
			if p == lsp {
				return `{"method":"$/cancelRequest","params":{"id":` + id + `}}`
			}
			return `{"method":"notifications/cancelled","params":{"requestId":` + id + `}}`
		}
		for i, id := range []string{`"a\"b"`, `0`, `-12345678901234567890123`, `"0"`} {
			if m, err := read(`{"id":` + id + `,"method":"m"}`); err != nil || m.ID != uint32(i+1) {
				t.Fatalf("%s: %+v, %v", id, m, err)
			}
		}
		if m, err := read(cancel("0")); err != nil || m.Kind != codec.Cancel || m.ID != 2 || m.Method != "" {
			t.Errorf("cancel: %+v, %v", m, err)
		}
		nothing := map[codec.Protocol]string{lsp: "null", mcp: "{}"}[p]
		for _, c := range []struct {
			m    codec.Message
			want string
		}{
			{codec.Message{ID: 1, Result: codec.Raw("[1]")}, `{"jsonrpc":"2.0","id":"a\"b","result":[1]}`},
			{codec.Message{ID: 2}, `{"jsonrpc":"2.0","id":0,"result":` + nothing + `}`},
			{codec.Message{ID: 3, Err: &codec.Error{Name: codec.NameMethodNotFound, Message: "no m"}}, `{"jsonrpc":"2.0","id":-12345678901234567890123,"error":{"code":-32601,"message":"no m"}}`},
			{codec.Message{ID: 4, Err: &codec.Error{Name: "Odd", Message: "x", Data: codec.Raw("{}")}}, `{"jsonrpc":"2.0","id":"0","error":{"code":-32603,"message":"Odd: x","data":{}}}`},
		} {
			c.m.Kind = codec.Response
			if got := sent(t, s, &c.m); got != c.want {
				t.Errorf("%s, expected %s", got, c.want)
			}
			if _, err := s.Append(nil, &c.m); !errors.Is(err, codec.ErrID) {
				t.Errorf("answered twice: %v", err)
			}
		}
		// Who is asked for life answers MCP, also when nobody knows how.
		if m, err := read(`{"id":99,"method":"ping"}`); err != nil || m.ID != 5 {
			t.Errorf("%+v, %v", m, err)
		}
		unknown := &codec.Error{Name: codec.NameMethodNotFound, Message: "no"}
		want := map[codec.Protocol]string{lsp: `"error":{"code":-32601,"message":"no"}`, mcp: `"result":{}`}[p]
		if got := sent(t, s, &codec.Message{Kind: codec.Response, ID: 5, Err: unknown}); got != `{"jsonrpc":"2.0","id":99,`+want+`}` {
			t.Error(got)
		}
		// One that was taken back is done with in MCP, and answered in LSP.
		if m, err := read(`{"id":"back","method":"m"}`); err != nil || m.ID != 6 {
			t.Errorf("%+v, %v", m, err)
		}
		back := codec.Message{Kind: codec.Response, ID: 6, Err: &codec.Error{Name: codec.NameCancelled}}
		if forgotten := s.Features().Forget(6); forgotten != (p == mcp) {
			t.Errorf("%s forgets: %v", p.Name(), forgotten)
		} else if forgotten {
			if _, err := s.Append(nil, &back); !errors.Is(err, codec.ErrID) {
				t.Errorf("answered after it was forgotten: %v", err)
			}
		} else if got := sent(t, s, &back); !strings.Contains(got, `"id":"back"`) || !strings.Contains(got, "-32800") {
			t.Error(got)
		}
		// One that was answered is not known any more, and its id is free.
		if m, err := read(`[` + cancel("0") + `,{"id":0,"method":"m"}]`); err != nil || m.Kind != codec.Request || m.ID != 7 {
			t.Errorf("%+v, %v", m, err)
		}
		var err error
		n := 0
		for err == nil && n <= jsonrpc.MaxOpen {
			_, err = read(fmt.Sprintf(`{"id":%d,"method":"m"}`, n+1))
			n++
		}
		if n != jsonrpc.MaxOpen || !errors.Is(err, codec.ErrElements) || !strings.Contains(err.Error(), "4096 others of the host's are not answered") {
			t.Errorf("request %d: %v", n, err)
		}
	}
}

// A notification of progress names the request it is about, if that is ours.
func TestProgress(t *testing.T) {
	for _, p := range []codec.Protocol{lsp, mcp} {
		note, wrap := `{"method":"notifications/progress","params":{"progress":1,"progressToken":%s}}`, "%s\n"
		if p == lsp {
			note, wrap = `{"method":"$/progress","params":{"token":%s,"value":{}}}`, ""
		}
		s := p.Open(codec.Limits{})
		var in strings.Builder
		add := func(body string) {
			if wrap == "" {
				in.WriteString(headers(body))
			} else {
				fmt.Fprintf(&in, wrap, body)
			}
		}
		for _, token := range []string{"5", "6", "7", "8", `"5"`, "null", "5.5"} {
			add(fmt.Sprintf(note, token))
		}
		add(`{"id":5,"result":1}`)
		add(fmt.Sprintf(note, "5"))
		sent(t, s, &codec.Message{Kind: codec.Request, ID: 5, Method: "m", Progress: true, Params: codec.Raw("{}")})
		sent(t, s, &codec.Message{Kind: codec.Request, ID: 6, Method: "m", Params: codec.Raw("{}")})
		sent(t, s, &codec.Message{Kind: codec.Request, ID: 7, Method: "m", Progress: true, Params: codec.Raw("{}")})
		sent(t, s, &codec.Message{Kind: codec.Cancel, ID: 7})
		all, err := messages(s, strings.NewReader(in.String()))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var got []uint32
		for _, m := range all {
			got = append(got, m.ID)
		}
		if want := []uint32{5, 0, 0, 0, 0, 0, 0, 5, 0}; !cmp.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", p.Name(), got, want)
		}
	}
}

func TestErrorNames(t *testing.T) {
	for _, c := range []struct {
		p    codec.Protocol
		code int
		want string
	}{
		{lsp, -32601, codec.NameMethodNotFound}, {mcp, -32602, codec.NameInvalidParams}, {lsp, -32603, "InternalError"}, {lsp, -32700, "ParseError"},
		{lsp, -32800, codec.NameCancelled}, {lsp, -32802, codec.NameCancelled}, {lsp, -32801, "ContentModified"}, {lsp, -32002, "ServerNotInitialized"},
		{mcp, -32002, "ResourceNotFound"}, {mcp, -32022, "UnsupportedProtocolVersion"}, {mcp, 12, ""},
	} {
		body := fmt.Sprintf(`{"id":1,"error":{"code":%d,"message":"x"}}`, c.code)
		if c.p == lsp {
			body = headers(body)
		}
		all, err := messages(c.p.Open(codec.Limits{}), strings.NewReader(body))
		if !errors.Is(err, io.EOF) || len(all) != 1 || all[0].Err.Name != c.want || all[0].Err.Code != int64(c.code) {
			t.Errorf("%s %d: %+v, %v", c.p.Name(), c.code, all, err)
		}
	}
}

func TestProtocolValues(t *testing.T) {
	for want, p := range map[string]codec.Protocol{"jsonrpc-headers": lsp, "jsonrpc-lines": mcp} {
		if p.Name() != want || p.Defaults() != (codec.Defaults{Transport: "stdio", NeverKill: true}) {
			t.Errorf("%s: %+v", p.Name(), p.Defaults())
		}
	}
	if lsp != jsonrpc.Headers(jsonrpc.Options{}) || mcp == jsonrpc.Lines(jsonrpc.Options{FailOnNoise: true}) {
		t.Error("protocols are not values")
	}
	if got := jsonrpc.Headers(jsonrpc.Options{Ping: "textDocument/x"}).Open(codec.Limits{}).Ping(); got != "textDocument/x" {
		t.Errorf("ping %q", got)
	}
	ask, last := lsp.Open(codec.Limits{}).Goodbye()
	if ask == nil || ask.Method != "shutdown" || len(last) != 1 || last[0].Method != "exit" || last[0].Kind != codec.Notification {
		t.Errorf("goodbye: %+v, %+v", ask, last)
	}
	if ask, last := mcp.Open(codec.Limits{}).Goodbye(); ask != nil || last != nil {
		t.Errorf("goodbye: %+v, %+v", ask, last)
	}
}

// The id of an open request is known as the peer has written it, until it is answered.
func TestWritten(t *testing.T) {
	s := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{})
	r := s.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen"}` + "\n"))
	var m codec.Message
	if err := r.Next(&m); err != nil {
		t.Fatal(err)
	}
	written := s.Features().Written
	if got := written(m.ID); string(got) != `"listen:0"` {
		t.Errorf("open: %s", got)
	}
	sent(t, s, &codec.Message{Kind: codec.Response, ID: m.ID})
	if got := written(m.ID); len(got) > 0 {
		t.Errorf("answered: %s", got)
	}
}
