package mcphttp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// client is the program behind a Remote.
type client struct {
	in    *io.PipeWriter
	lines *bufio.Reader
	end   chan error // what Connect returns

	mu   sync.Mutex
	logs []string
}

// connect runs a Remote until the test ends.
func connect(t *testing.T, at string, r *Remote) *client {
	t.Helper()
	var err error
	if r.URL, err = url.Parse(at); err != nil {
		t.Fatal(err)
	}
	c := &client{end: make(chan error, 1)}
	r.Log = func(text string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.logs = append(c.logs, text)
	}
	in, inw := io.Pipe()
	out, outw := io.Pipe()
	c.in, c.lines = inw, bufio.NewReader(out)
	go func() {
		err := r.Connect(context.WithoutCancel(t.Context()), in, outw)
		_ = outw.Close()
		_ = in.Close()
		c.end <- err
	}()
	t.Cleanup(func() {
		_ = out.Close()
		_ = inw.Close()
		err := <-c.end
		c.end <- err
	})
	return c
}

func (c *client) says(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		t.Fatalf("%v; %v; it logged %q", err, <-c.end, c.logged())
	}
}

func (c *client) reads(t *testing.T, want ...string) string {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	for _, w := range want {
		if err != nil || !strings.Contains(line, w) {
			t.Fatalf("the client reads %q %v, want %q; it logged %q", line, err, w, c.logged())
		}
	}
	if !json.Valid([]byte(line)) {
		t.Fatalf("%q is not JSON", line)
	}
	return line
}

// ends checks why Connect has ended.
func (c *client) ends(t *testing.T, want string) {
	t.Helper()
	err := <-c.end
	c.end <- err
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it ends with %v, want %q", err, want)
	}
}

func (c *client) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.logs, "\n")
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// inSession connects a client to the server of this package, and returns it with the program
// that has answered its initialize.
func inSession(t *testing.T) (*client, *program) {
	t.Helper()
	s := serve(t, Options{})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	c := connect(t, web.URL+"/mcp", &Remote{})
	c.says(t, initialize)
	p := <-s.programs
	p.reads(t, "initialize")
	p.says(t, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	return c, p
}

// The server of this package, with a session: calls, progress, what the server asks, news,
// what is taken back, and the end.
func TestConnectWithSession(t *testing.T) {
	c, p := inSession(t)
	c.reads(t, `"id":0`, "2025-11-25")
	c.says(t, initialized)
	p.reads(t, "notifications/initialized")
	p.says(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	c.reads(t, "list_changed")

	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7}}}`)
	p.reads(t, "tools/call")
	c.says(t, `{"jsonrpc":"2.0","id":"two","method":"ping"}`)
	p.reads(t, "ping")
	p.says(t, `{"jsonrpc":"2.0","id":"two","result":{}}`)
	c.reads(t, `"id":"two"`)
	p.says(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`)
	c.reads(t, `"progressToken":7`)
	p.says(t, `{"jsonrpc":"2.0","id":90,"method":"sampling/createMessage"}`)
	c.reads(t, "sampling")
	c.says(t, `{"jsonrpc":"2.0","id":90,"result":{"text":"sampled"}}`)
	p.reads(t, "sampled")
	p.says(t, `{"jsonrpc":"2.0","id":1,"result":{"a":"b"}}`)
	c.reads(t, `"id":1`, `"a":"b"`)

	c.says(t, `{"jsonrpc":"2.0","id":3,"method":"long"}`)
	p.reads(t, "long")
	c.says(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	p.reads(t, "cancelled")
	p.says(t, `{"jsonrpc":"2.0","id":3,"result":{}}`) // late

	c.says(t, `[{"jsonrpc":"2.0","id":4,"method":"a"},{"jsonrpc":"2.0","id":5,"method":"b"}]`)
	p.reads(t, `"method":`) // requests may overtake each other
	p.reads(t, `"method":`)
	p.says(t, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	c.reads(t, `"id":4`)
	c.says(t, `{"jsonrpc":"2.0","id":5,"method":"again"}`)
	c.reads(t, "is open")
	p.says(t, `{"jsonrpc":"2.0","id":5,"result":{}}`)
	c.reads(t, `"id":5`)
	c.says(t, "{")
	c.reads(t, "-32700")
	c.says(t, "{}")
	c.reads(t, "-32600")

	c.says(t, `{"jsonrpc":"2.0","id":6,"method":"last"}`)
	p.reads(t, "last")
	_ = c.in.Close()
	p.says(t, `{"jsonrpc":"2.0","id":6,"result":{}}`)
	c.reads(t, `"id":6`)
	if err := <-c.end; err != nil {
		t.Error(err)
	}
	c.end <- nil
	<-p.ctx.Done() // it has ended its session
}

// A session that has ended at the server ends everything, as a crash of a server would.
func TestConnectSessionLost(t *testing.T) {
	c, p := inSession(t)
	c.reads(t, `"id":0`)
	p.end <- errors.New("detached")
	<-p.ctx.Done()
	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	c.ends(t, "does not know the session any more")
}

// Without a session: the headers that repeat the message, answers with an error status, and a
// request that is taken back by leaving.
func TestConnectWithoutSession(t *testing.T) {
	got := make(chan http.Header, 1)
	left := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := messageOf(body)
		got <- r.Header
		switch m.method {
		case methodTools:
			w.Header().Set("Content-Type", typeJSON)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"properties":{
				"where":{"type":"string","x-mcp-header":"Region"},"in":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"bad":{"x-mcp-header":"a b"}}}}]}}`, m.id)
		case "long":
			w.Header().Set("Content-Type", typeEvents)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(left)
		case "tools/call":
			w.Header().Set("Content-Type", typeEvents)
			fmt.Fprintf(w, ": hello\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":%s,\"result\":{}}\r\n\r\n", m.id)
		default:
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`)
		}
	}))
	defer web.Close()
	c := connect(t, web.URL, &Remote{Headers: http.Header{"Authorization": {"Bearer x"}, "Accept": {"text/html"}}})
	ask := func(id, method, params string) http.Header {
		c.says(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}%s}}`, id, method, params))
		return <-got
	}
	h := ask("1", "server/discover", "")
	c.reads(t, `"id":1,`, "no such method")
	for name, want := range map[string]string{
		headerVersion: "2026-07-28", headerMethod: "server/discover", headerSession: "", headerName: "",
		"Authorization": "Bearer x", "Accept": typeJSON + ", " + typeEvents, "Content-Type": typeJSON,
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	ask("2", methodTools, "")
	c.reads(t, `"x-mcp-header":"Region"`)
	h = ask("3", "tools/call", `,"name":"t","arguments":{"where":"Zürich","in":{"n":3},"bad":"x"}`)
	c.reads(t, `"id":3`)
	if h.Get(headerName) != "t" || h.Get("Mcp-Param-Region") != "=?base64?WsO8cmljaA==?=" || h.Get("Mcp-Param-N") != "3" {
		t.Errorf("%v", h)
	}
	ask("4", "long", "")
	c.says(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
	<-left
}

// News that were cut off are asked for again, and the client is told once that it gets them.
func TestConnectListensAgain(t *testing.T) {
	n := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", typeEvents)
		_, _ = io.WriteString(w, "retry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n")
		if n == 3 {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
			return
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"news%d\"}\n\n", n)
		if n == 2 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer web.Close()
	c := connect(t, web.URL, &Remote{})
	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	for _, want := range []string{"acknowledged", "news1", "news2", `"id":1`} {
		c.reads(t, want)
	}
}

// A stream that is cut off goes on behind the last event.
func TestConnectResumes(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typeEvents)
		switch last := r.Header.Get(headerLast); {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, "id: a\nretry: 1\ndata:\n\n")
		case last == "a":
			_, _ = io.WriteString(w, "id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"half\"}\n\ndata: {\"jsonrpc\"")
		case last == "b":
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n")
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	defer web.Close()
	c := connect(t, web.URL, &Remote{})
	c.says(t, `{"jsonrpc":"2.0","id":9,"method":"m"}`)
	c.reads(t, "half")
	c.reads(t, `"id":9`, "result")
}

// What a server does wrong is the error of the request that it is about, and the next request
// is served.
func TestConnectWrongAnswers(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 3<<10) + `"}`
	for name, x := range map[string]struct {
		kind, body string
		status     int
		want       string
	}{
		"no JSON":               {typeJSON, "<html>", 200, "what is not JSON"},
		"another id":            {typeJSON, `{"jsonrpc":"2.0","id":7,"result":{}}`, 200, "without an answer"},
		"no message":            {typeJSON, `[3]`, 200, "without an answer"},
		"too large":             {typeJSON, large, 200, "larger than 2048 bytes"},
		"too large an event":    {typeEvents, "data: " + large + "\n\n", 200, "larger than 2048 bytes"},
		"too large in lines":    {typeEvents, strings.Repeat("data: "+strings.Repeat(" ", 1000)+"\n", 3) + "\n", 200, "larger than 2048 bytes"},
		"events without answer": {typeEvents, "data: {\n\ndata: 3\n\n", 200, "ended before the answer"},
		"a page":                {"text/html", "<html>", 200, `Content-Type \"text/html\"`},
		"nothing":               {"", "", 202, "202 Accepted"},
		"an error page":         {"text/plain", "no such path\nmore", 404, "404 Not Found: no such path"},
		"forbidden":             {"", "", 403, "403 Forbidden"},
		"busy":                  {"", "", 503, "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				kind, status, body := x.kind, x.status, x.body
				if !first {
					kind, status, body = typeJSON, 200, `{"jsonrpc":"2.0","id":2,"result":{}}`
				}
				first = false
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			defer web.Close()
			c := connect(t, web.URL, &Remote{MaxMessage: 2 << 10})
			c.says(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
			c.reads(t, `"id":1,"error"`, x.want)
			c.says(t, `{"jsonrpc":"2.0","id":2,"method":"m"}`)
			c.reads(t, `"id":2,"result"`)
		})
	}
}

// A stream that hangs counts as cut off, and the outcome of the request is an error.
func TestConnectHangs(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // else the end of the connection is not noticed
		w.Header().Set("Content-Type", typeEvents)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	c := connect(t, web.URL, &Remote{IdleTimeout: 100 * time.Millisecond})
	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	c.reads(t, `"id":1,"error"`, "ended before the answer")
}

// A request that the server may have got is not made again.
func TestConnectDoesNotRepeat(t *testing.T) {
	n := 0
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n++
		panic(http.ErrAbortHandler)
	}))
	c := connect(t, web.URL, &Remote{})
	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	c.reads(t, `"id":1,"error"`, "not known whether")
	web.Close()
	if n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

// A server that cannot be used ends everything, with a reason that says what to do.
func TestConnectUnusable(t *testing.T) {
	refuse := func(status int, header ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/here" {
				w.Header().Set("Content-Type", typeJSON)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
				return
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		})
	}
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for name, x := range map[string]struct {
		handler http.Handler
		tls     bool
		url     string
		headers http.Header
		want    string // "": it can be used
	}{
		"no token":          {handler: refuse(401), want: "needs a token, which remote.token"},
		"another token":     {handler: refuse(401), headers: http.Header{"Authorization": {"Bearer x"}}, want: "refuses the token, which remote.token of the host (or HOSTSUP_CONNECT_TOKEN) sets: 401 Unauthorized"},
		"elsewhere":         {handler: refuse(307, "Location", "http://127.0.0.2:1/"), want: "redirects to another one, http://127.0.0.2:1"},
		"here":              {handler: refuse(307, "Location", "/here")},
		"another method":    {handler: refuse(302, "Location", "/here"), want: "would become a GET"},
		"in circles":        {handler: refuse(308, "Location", "/"), want: "in circles"},
		"an unknown issuer": {handler: refuse(200), tls: true, want: "an authority that is not trusted here"},
		"no encryption":     {handler: refuse(200), url: "https", want: "does not speak TLS"},
		"nobody there":      {url: "http://" + closed.Addr().String(), want: "no server listens at"},
		"an unknown name":   {url: "http://no-such-machine.invalid/", want: "no-such-machine.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			at := x.url
			if x.handler != nil {
				web := httptest.NewUnstartedServer(x.handler)
				web.Config.ErrorLog = nil
				if x.tls {
					web.StartTLS()
				} else {
					web.Start()
				}
				defer web.Close()
				at = web.URL
				if x.url == "https" {
					at = strings.Replace(at, "http:", "https:", 1)
				}
			}
			patience := 30 * time.Second
			if x.handler == nil {
				patience = time.Second
			}
			c := connect(t, at, &Remote{ConnectTimeout: patience, Headers: x.headers})
			c.says(t, initialize)
			if x.want == "" {
				c.reads(t, `"id":0,"result"`)
				return
			}
			c.ends(t, x.want)
		})
	}
}

// A server that is not there yet is waited for.
func TestConnectWaits(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	c := connect(t, "http://"+at, &Remote{ConnectTimeout: time.Minute})
	c.says(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`[:10]) // not whole: it is no message
	c.reads(t, "-32700")
	go func() { _, _ = io.WriteString(c.in, initialize+"\n") }()
	for !strings.Contains(c.logged(), "trying again") {
		runtime.Gosched()
	}
	if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", at); err != nil {
		t.Skip("the port was taken: ", err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typeJSON)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
	}))
	_ = web.Listener.Close()
	web.Listener = l
	web.Start()
	defer web.Close()
	c.reads(t, `"id":0,"result"`)
}
