package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

func answer(result string) *codec.Message {
	return &codec.Message{Kind: codec.Response, ID: 1, Result: codec.Raw(result)}
}

func refusal(code int64, data string) *codec.Message {
	return &codec.Message{Kind: codec.Response, ID: 1, Err: &codec.Error{Code: code, Message: "no", Data: codec.Raw(data)}}
}

// begin starts a handshake and returns its request.
func begin(t *testing.T, s codec.Session, h codec.Hello) (codec.Handshake, codec.Message) {
	t.Helper()
	hs := s.Handshake(h)
	out, done := hs.Start()
	if done || len(out) != 1 || out[0].ID != 1 || out[0].Kind != codec.Request {
		t.Fatalf("start: %+v, %v", out, done)
	}
	return hs, out[0]
}

func decoded(t *testing.T, raw codec.Raw) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return v
}

func TestInitializeParams(t *testing.T) {
	for _, c := range []struct {
		h    codec.Hello
		want string
	}{
		{codec.Hello{Supervisor: "s", Version: "1"},
			`{"processId":null,"clientInfo":{"name":"s","version":"1"},"rootUri":null,"workspaceFolders":null,"capabilities":{}}`},
		{codec.Hello{Supervisor: "s", PID: 7, Dir: "/srv/a b"},
			`{"processId":7,"clientInfo":{"name":"s","version":""},"rootUri":"file:///srv/a%20b","workspaceFolders":[{"name":"a b","uri":"file:///srv/a%20b"}],"capabilities":{}}`},
		{codec.Hello{Supervisor: "s", PID: 7, Dir: "/srv", Init: map[string]any{"processId": nil, "rootUri": "file:///x", "initializationOptions": map[string]any{"a": 1}}},
			`{"processId":null,"clientInfo":{"name":"s","version":""},"rootUri":"file:///x","capabilities":{},"initializationOptions":{"a":1}}`},
		{codec.Hello{Supervisor: "s", Init: codec.Raw(`{"capabilities":{"x":1e400}}`)}, ""},
	} {
		_, m := begin(t, lsp.Open(codec.Limits{}), c.h)
		if c.want == "" { // what no float holds passes through
			if !strings.Contains(string(m.Params), "1e400") {
				t.Errorf("%s", m.Params)
			}
			continue
		}
		if diff := cmp.Diff(decoded(t, codec.Raw(c.want)), decoded(t, m.Params)); diff != "" || m.Method != "initialize" {
			t.Errorf("%+v: %s", c.h, diff)
		}
	}
}

// An init that is no map is an error before anything is sent.
func TestInitThatIsNoMap(t *testing.T) {
	for _, p := range []codec.Protocol{lsp, mcp} {
		for _, init := range []any{3, []int{1}, "x", func() {}, codec.Raw("{"), codec.Raw("[]")} {
			hs := p.Open(codec.Limits{}).Handshake(codec.Hello{Init: init})
			out, done := hs.Start()
			_, _, err := hs.Handle(&codec.Message{Kind: codec.Notification, Method: "m"})
			if len(out) != 0 || done || err == nil || !strings.HasPrefix(err.Error(), "init: ") {
				t.Errorf("%v: %v, %v, %v", init, out, done, err)
			}
		}
	}
}

func TestLSPHandshake(t *testing.T) {
	s := lsp.Open(codec.Limits{})
	hs, asked := begin(t, s, codec.Hello{Supervisor: "s"})
	for _, m := range []*codec.Message{
		{Kind: codec.Notification, Method: "window/logMessage"},
		{Kind: codec.Request, ID: 1, Method: "window/showMessageRequest"},
		{Kind: codec.Request, ID: 2, Method: "window/workDoneProgress/create"},
	} {
		if _, done, err := hs.Handle(m); done || !errors.Is(err, codec.ErrUnrelated) {
			t.Errorf("%s: %v, %v", m.Method, done, err)
		}
	}
	for _, m := range []*codec.Message{
		{Kind: codec.Request, ID: 1, Method: "workspace/configuration"},
		{Kind: codec.Response, ID: 2},
	} {
		hs, _ := begin(t, lsp.Open(codec.Limits{}), codec.Hello{})
		if _, _, err := hs.Handle(m); !errors.Is(err, codec.ErrEarly) {
			t.Errorf("%s %s: %v", m.Kind, m.Method, err)
		}
	}
	result := `{"capabilities":{},"serverInfo":{"name":"srv","version":"2.1"}}`
	out, done, err := hs.Handle(answer(result))
	if err != nil || !done || len(out) != 1 || out[0].Method != "initialized" || out[0].Kind != codec.Notification || string(out[0].Params) != "{}" {
		t.Fatalf("%+v, %v, %v", out, done, err)
	}
	want := codec.Peer{Name: "srv", Version: "2.1", Caps: codec.CapPing | codec.CapCancel | codec.CapAbandon}
	if hs.Peer() != want || s.Ping() != jsonrpc.MethodPing {
		t.Errorf("peer %+v, ping %q", hs.Peer(), s.Ping())
	}
	request, got := s.(*jsonrpc.Session).Opened()
	if string(request) != string(asked.Params) || string(got) != result {
		t.Errorf("opened with %s, %s", request, got)
	}
	// A server may say of itself what it likes, or nothing.
	for _, result := range []string{`{}`, `{"serverInfo":3}`, `{"serverInfo":{"name":[]}}`} {
		hs, _ := begin(t, lsp.Open(codec.Limits{}), codec.Hello{})
		if _, done, err := hs.Handle(answer(result)); !done || err != nil || hs.Peer().Name != "" {
			t.Errorf("%s: %v, %v", result, done, err)
		}
	}
	for _, result := range []string{``, `[]`, `3`} {
		hs, _ := begin(t, lsp.Open(codec.Limits{}), codec.Hello{})
		if _, done, err := hs.Handle(answer(result)); done || !errors.Is(err, codec.ErrShape) {
			t.Errorf("%s: %v, %v", result, done, err)
		}
	}
	hs, _ = begin(t, lsp.Open(codec.Limits{}), codec.Hello{})
	var e *codec.Error
	if _, _, err := hs.Handle(refusal(-32603, "")); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "initialize: ") {
		t.Errorf("refused: %v", err)
	}
}

const (
	session     = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"srv","version":"3"}}`
	sessionless = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"new","version":"4"}}`
)

func TestMCPWithSession(t *testing.T) {
	s := mcp.Open(codec.Limits{})
	hs, asked := begin(t, s, codec.Hello{Supervisor: "s", Version: "1", Dir: "/srv", PID: 3, Init: map[string]any{"capabilities": map[string]any{"roots": map[string]any{}}}})
	want := `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"s","version":"1"}}`
	if diff := cmp.Diff(decoded(t, codec.Raw(want)), decoded(t, asked.Params)); diff != "" || asked.Method != "initialize" {
		t.Error(diff)
	}
	if _, _, err := hs.Handle(&codec.Message{Kind: codec.Notification, Method: "notifications/tools/list_changed"}); !errors.Is(err, codec.ErrUnrelated) {
		t.Error(err)
	}
	out, done, err := hs.Handle(&codec.Message{Kind: codec.Request, ID: 9, Method: "ping"})
	if err != nil || done || len(out) != 1 || out[0].Kind != codec.Response || out[0].ID != 9 || out[0].Err != nil {
		t.Errorf("ping before the handshake is done: %+v, %v", out, err)
	}
	out, done, err = hs.Handle(answer(session))
	if err != nil || !done || len(out) != 1 || out[0].Method != "notifications/initialized" {
		t.Fatalf("%+v, %v, %v", out, done, err)
	}
	if p := hs.Peer(); p.Name != "srv" || p.Version != "3" || p.Caps != codec.CapPing|codec.CapCancel|codec.CapAbandon || s.Ping() != "ping" {
		t.Errorf("%+v, ping %q", p, s.Ping())
	}
	if got := sent(t, s, &codec.Message{Kind: codec.Request, ID: 2, Method: "m"}); got != `{"jsonrpc":"2.0","id":2,"method":"m"}` {
		t.Error(got)
	}
}

func TestMCPVersions(t *testing.T) {
	for version, usable := range map[string]bool{
		`"2024-11-05"`: true, `"2025-03-26"`: true, `"2025-06-18"`: true, `"2025-11-25"`: true, `"2025-12-31"`: true,
		`"2026-07-28"`: false, `"2027-01-01"`: false, `""`: false, `null`: false, `3`: false, `"draft"`: false,
	} {
		hs, _ := begin(t, mcp.Open(codec.Limits{}), codec.Hello{})
		_, done, err := hs.Handle(answer(`{"protocolVersion":` + version + `}`))
		if done != usable || !usable && (!errors.Is(err, codec.ErrVersion) || !strings.Contains(err.Error(), jsonrpc.SessionVersion)) {
			t.Errorf("%s: %v, %v", version, done, err)
		}
	}
	// A version that was asked for is one that the client wants.
	hs, m := begin(t, mcp.Open(codec.Limits{}), codec.Hello{Init: map[string]any{"protocolVersion": "2024-x"}})
	if _, done, err := hs.Handle(answer(`{"protocolVersion":"2024-x"}`)); !done || err != nil || !strings.Contains(string(m.Params), `"2024-x"`) {
		t.Errorf("%v, %v", done, err)
	}
}

// A server that refuses initialize, with whatever code, is asked what it is.
func TestMCPWithoutSession(t *testing.T) {
	for _, code := range []int64{-32601, -32602, -32600, -32022, 1} {
		s := mcp.Open(codec.Limits{})
		hs, _ := begin(t, s, codec.Hello{Supervisor: "s", Version: "1", Init: map[string]any{"capabilities": map[string]any{"x": 1}}})
		out, done, err := hs.Handle(refusal(code, ""))
		if err != nil || done || len(out) != 1 || out[0].Method != "server/discover" || out[0].ID != 1 {
			t.Fatalf("%+v, %v, %v", out, done, err)
		}
		meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"x":1},"io.modelcontextprotocol/clientInfo":{"name":"s","version":"1"}`
		if got, want := sent(t, s, &out[0]), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{`+meta+`}}}`; got != want {
			t.Errorf("%s\nexpected %s", got, want)
		}
		out, done, err = hs.Handle(answer(sessionless))
		if err != nil || !done || len(out) != 0 {
			t.Fatalf("%+v, %v, %v", out, done, err)
		}
		if p := hs.Peer(); p.Name != "new" || p.Version != "4" || p.Caps != codec.CapCancel|codec.CapAbandon || s.Ping() != "" {
			t.Errorf("%+v, ping %q", p, s.Ping())
		}
		for params, want := range map[string]string{
			``:                  `{"_meta":{` + meta + `}}`,
			`{"a":1}`:           `{"_meta":{` + meta + `},"a":1}`,
			`{"_meta":{"y":2}}`: `{"_meta":{` + meta + `,"y":2}}`,
			`{"_meta":{}}`:      `{"_meta":{` + meta + `}}`,
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientInfo":0,"io.modelcontextprotocol/clientCapabilities":1}}`: `{"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientInfo":0,"io.modelcontextprotocol/clientCapabilities":1}}`,
		} {
			if got := sent(t, s, &codec.Message{Kind: codec.Request, ID: 3, Method: "m", Params: codec.Raw(params)}); got != `{"jsonrpc":"2.0","id":3,"method":"m","params":`+want+`}` {
				t.Errorf("%s: %s", params, got)
			}
		}
		if got := sent(t, s, &codec.Message{Kind: codec.Request, ID: 3, Method: "m", Progress: true}); !strings.Contains(got, `,"progressToken":3}}`) {
			t.Error(got)
		}
		if got := sent(t, s, &codec.Message{Kind: codec.Notification, Method: "n"}); strings.Contains(got, "_meta") {
			t.Error(got)
		}
		request, result := s.(*jsonrpc.Session).Opened()
		if !strings.Contains(string(request), "_meta") || string(result) != sessionless {
			t.Errorf("opened with %s, %s", request, result)
		}
	}
	// Options can name a request that asks for life.
	s := jsonrpc.Lines(jsonrpc.Options{Ping: "server/discover"}).Open(codec.Limits{})
	hs, _ := begin(t, s, codec.Hello{Init: map[string]any{"protocolVersion": "2026-07-28"}})
	if _, done, err := hs.Handle(answer(sessionless)); !done || err != nil || s.Ping() != "server/discover" || !hs.Peer().Caps.Has(codec.CapPing) {
		t.Errorf("%v, %v, ping %q", done, err, s.Ping())
	}
}

// Who is refused twice learns of both; a version named by the server is final.
func TestMCPRefused(t *testing.T) {
	newer := codec.Hello{Init: map[string]any{"protocolVersion": "2026-07-28"}}
	for _, c := range []struct {
		name string
		h    codec.Hello
		in   []*codec.Message
		is   error
		says string
	}{
		{"both", codec.Hello{}, []*codec.Message{refusal(-32603, ""), refusal(-32601, "")}, nil, "initialize: no; and server/discover: no"},
		{"both, the other way", newer, []*codec.Message{refusal(-32601, ""), refusal(-32603, "")}, nil, "server/discover: no; and initialize: no"},
		{"another version", codec.Hello{}, []*codec.Message{refusal(-32601, ""), refusal(-32022, `{"supported":["2027-02-02"]}`)}, codec.ErrVersion, `speaks "2027-02-02"`},
		{"another version at once", newer, []*codec.Message{refusal(-32022, `{"supported":["2027-02-02"]}`)}, codec.ErrVersion, `speaks "2027-02-02"`},
		{"no version", newer, []*codec.Message{refusal(-32022, "")}, codec.ErrVersion, "names none"},
		{"another version found", newer, []*codec.Message{answer(`{"supportedVersions":["2027-02-02"]}`)}, codec.ErrVersion, `speaks "2027-02-02"`},
		{"nothing", newer, []*codec.Message{answer(``)}, codec.ErrShape, "server/discover: "},
		{"nothing at all", codec.Hello{}, []*codec.Message{answer(``)}, codec.ErrShape, "initialize: "},
		{"a request", codec.Hello{}, []*codec.Message{{Kind: codec.Request, ID: 1, Method: "roots/list"}}, codec.ErrEarly, `request "roots/list"`},
	} {
		hs, _ := begin(t, mcp.Open(codec.Limits{}), c.h)
		var err error
		for i, m := range c.in {
			if err != nil {
				t.Errorf("%s: answer %d: %v", c.name, i, err)
			}
			_, _, err = hs.Handle(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Who names the newer version is content with the older where there is no other.
	for _, m := range []*codec.Message{refusal(-32601, ""), refusal(-32022, `{"supported":["2025-11-25"]}`), answer(`{"supportedVersions":["2025-06-18"]}`)} {
		hs, first := begin(t, mcp.Open(codec.Limits{}), newer)
		out, done, err := hs.Handle(m)
		if first.Method != "server/discover" || err != nil || done || len(out) != 1 || out[0].Method != "initialize" || !strings.Contains(string(out[0].Params), `"2025-11-25"`) {
			t.Fatalf("%+v, %v, %v", out, done, err)
		}
		if _, done, err := hs.Handle(answer(session)); !done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
	}
}

// Of a host without session a cancel is about a request of ours, and it is
// handed out like other notifications.
func TestCancelledWithoutSession(t *testing.T) {
	s := mcp.Open(codec.Limits{})
	hs, _ := begin(t, s, codec.Hello{Init: map[string]any{"protocolVersion": "2026-07-28"}})
	if _, done, err := hs.Handle(answer(sessionless)); !done || err != nil {
		t.Fatal(err)
	}
	all, _ := messages(s, strings.NewReader(`{"method":"notifications/cancelled","params":{"requestId":4}}`)) // ends with EOF
	if len(all) != 1 || all[0].Kind != codec.Notification || all[0].Method != "notifications/cancelled" || all[0].ID != 0 {
		t.Errorf("%+v", all)
	}
}
