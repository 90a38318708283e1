package control_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

// secretOf is the text of the token that has a role.
func secretOf(r control.Role) string { return strings.Repeat(string(r)+"-", 10) }

// console serves sup at a port, where each role has a token.
func console(t *testing.T, sup control.Supervisor, opt control.Options, a control.Access) string {
	t.Helper()
	for _, r := range control.Roles() {
		tok, err := control.NewToken("of "+string(r), r, secretOf(r))
		if err != nil {
			t.Fatal(err)
		}
		a.Tokens = append(a.Tokens, tok)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveConsole(t, l, sup, opt, a)
	return l.Addr().String()
}

// serveConsole serves a console until the end of the test.
func serveConsole(t *testing.T, l net.Listener, sup control.Supervisor, opt control.Options, a control.Access) {
	t.Helper()
	srv := control.NewServer(sup, opt)
	done := make(chan error, 1)
	go func() { done <- srv.ServeConsole(l, a) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(srv.Close(ctx), <-done); err != nil {
			t.Errorf("close the console: %v", err)
		}
	})
}

// answered is the head of a response.
type answered struct {
	StatusCode int
	Header     http.Header
}

// ask sends a request to a console. header has pairs.
func ask(t *testing.T, addr, method, path, body string, header ...string) (answered, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{res.StatusCode, res.Header}, text
}

func classIn(t *testing.T, text []byte) control.Class {
	t.Helper()
	var told struct{ Error control.Error }
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return told.Error.Class
}

func TestConsoleAdmits(t *testing.T) {
	page := fstest.MapFS{"index.html": {Data: []byte("<title>page</title>")}, "a/app.js": {Data: []byte("1")}}
	addr := console(t, everything(), control.Options{Version: "v1.2.3"},
		control.Access{Names: []string{"ops.example"}, Origins: []string{"https://friend.example"}, Page: page})
	_, port, _ := net.SplitHostPort(addr)
	bearer := []string{"Authorization", "Bearer " + secretOf(control.RoleRead)}
	with := func(more ...string) []string { return append(more, bearer...) }
	tests := []struct {
		name, method, path string
		header             []string
		status             int
		class              control.Class // "": no error
	}{
		{"a token", "GET", "/v1/status", bearer, 200, ""},
		{"no token", "GET", "/v1/status", nil, 401, control.Unauthorized},
		{"no token for an unknown path", "GET", "/v1/nothing", nil, 401, control.Unauthorized},
		{"no token for figures", "GET", "/metrics", nil, 401, control.Unauthorized},
		{"wrong token", "GET", "/v1/status", []string{"Authorization", "Bearer " + secretOf(control.RoleRead) + "x"}, 401, control.Unauthorized},
		{"shorter token", "GET", "/v1/status", []string{"Authorization", "Bearer " + secretOf(control.RoleRead)[:39]}, 401, control.Unauthorized},
		{"empty token", "GET", "/v1/status", []string{"Authorization", "Bearer "}, 401, control.Unauthorized},
		{"another scheme", "GET", "/v1/status", []string{"Authorization", "Basic " + secretOf(control.RoleRead)}, 401, control.Unauthorized},
		{"token in the query", "GET", "/v1/status?token=" + secretOf(control.RoleRead), nil, 401, control.Unauthorized},
		{"scheme in small letters", "GET", "/v1/status", []string{"Authorization", "bearer " + secretOf(control.RoleRead)}, 200, ""},
		{"localhost", "GET", "/v1/status", with("Host", "localhost:"+port), 200, ""},
		{"a configured name", "GET", "/v1/status", with("Host", "OPS.example"), 200, ""},
		{"another name", "GET", "/v1/status", with("Host", "evil.example:"+port), 403, control.Forbidden},
		{"another address", "GET", "/v1/status", with("Host", "127.0.0.2:"+port), 403, control.Forbidden},
		{"another name for the page", "GET", "/", []string{"Host", "evil.example:" + port}, 403, control.Forbidden},
		{"own origin", "GET", "/v1/status", with("Origin", "http://"+addr), 200, ""},
		{"origin of another port", "GET", "/v1/status", with("Origin", "http://127.0.0.1:1"), 403, control.Forbidden},
		{"foreign origin", "GET", "/v1/status", with("Origin", "https://evil.example"), 403, control.Forbidden},
		{"no origin's origin", "GET", "/v1/status", with("Origin", "null"), 403, control.Forbidden},
		{"origin of a file for the page", "GET", "/", []string{"Origin", "null"}, 403, control.Forbidden},
		{"configured origin", "GET", "/v1/status", with("Origin", "https://friend.example"), 200, ""},
		{"configured origin without a token", "GET", "/v1/status", []string{"Origin", "https://friend.example"}, 401, control.Unauthorized},
		{"preflight of it", "OPTIONS", "/v1/status", []string{"Origin", "https://friend.example", "Access-Control-Request-Method", "GET"}, 204, ""},
		{"preflight of another", "OPTIONS", "/v1/status", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "GET"}, 403, control.Forbidden},
		{"the page", "GET", "/", nil, 200, ""},
		{"a file of the page", "GET", "/a/app.js", nil, 200, ""},
		{"a folder of the page", "GET", "/a", nil, 404, control.Unknown},
		{"a folder of the page, with a slash", "GET", "/a/", nil, 404, control.Unknown},
		{"no file of the page", "GET", "/b", nil, 404, control.Unknown},
		{"a path upwards", "GET", "/a/../../etc/passwd", nil, 404, control.Unknown},
		{"a hidden path upwards", "GET", "/%2e%2e/%2e%2e/etc/passwd", nil, 404, control.Unknown},
		{"an empty segment", "GET", "//v1/status", nil, 404, control.Unknown},
		{"an API path that leaves it", "GET", "/v1/../v1/status", bearer, 404, control.Unknown},
		{"the same without a token", "GET", "/v1/../index.html", nil, 401, control.Unauthorized},
		{"posting to the page", "POST", "/", nil, 404, control.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, text := ask(t, addr, tt.method, tt.path, "", tt.header...)
			if res.StatusCode != tt.status {
				t.Errorf("status %d: %s", res.StatusCode, text)
			}
			if tt.class != "" {
				if got := classIn(t, text); got != tt.class {
					t.Errorf("class %s, want %s", got, tt.class)
				}
			}
			if v := res.Header.Get("Hostsup-Version"); (v != "") != (tt.status != 401 && tt.status != 403 && strings.HasPrefix(tt.path, "/v1") && tt.status != 204) {
				t.Errorf("the version is %q", v)
			}
			allowed := res.Header.Get("Access-Control-Allow-Origin")
			if friend := strings.Contains(strings.Join(tt.header, " "), "friend"); (allowed != "") != friend || res.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("origins that are allowed: %q", allowed)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	long := strings.Repeat("x", control.MinToken)
	for _, tt := range []struct {
		role control.Role
		text string
		ok   bool
	}{{"full", long, true}, {"full", long[1:], false}, {"", long, false}, {"admin", long, false}, {"read", long + "\n", false}, {"read", long + "ä", false}} {
		if _, err := control.NewToken("n", tt.role, tt.text); (err == nil) != tt.ok {
			t.Errorf("%q %q: %v", tt.role, tt.text, err)
		} else if err != nil && strings.Contains(err.Error(), "xxx") {
			t.Errorf("the text is in %v", err)
		}
	}
}

// Every operation that the document has is refused to those whose role is below its own,
// and none that a caller with the role read may use changes anything.
func TestRolesOfAllRoutes(t *testing.T) {
	sup, doc := everything(), newSchemas(t)
	var changed []string
	change := func(what string) { changed = append(changed, what) }
	sup.OnSet = func(context.Context, string, string, extensions.Verb) error { change("set"); return nil }
	sup.OnRescan = func(context.Context, string) ([]extensions.Difference, error) { change("rescan"); return nil, nil }
	sup.OnActivate = func(context.Context, string, string) error { change("activate"); return nil }
	sup.OnLanguage = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		change("language")
		return nil, nil
	}
	sup.Asking = []questions.Question{{ID: "golang.go", Host: "ts"}}
	sup.OnAnswer = func(string, []string, bool) error { change("answer"); return nil }
	sup.Shown.Progress = []status.Progress{{ID: "golang.go", Host: "ts", Cancelable: true}}
	sup.Trees = []views.Tree{{View: views.View{Host: "ts", ID: "golang.go"}}}
	sup.OnRead = func(views.Query) { change("read") }
	sup.Sources = []scm.Control{{ID: "golang.go", Host: "ts", Groups: []scm.ResourceGroup{}}}
	sup.Tests.Runs = []tests.Run{{ID: "golang.go", Host: "ts", State: tests.Running, Results: []tests.Result{}}}
	sup.Files.OnAsk = func() { change("ask") }
	sup.Tests.OnRead = func(tests.Query) { change("read") }
	sup.Tests.OnRun = func(context.Context, tests.Request) (*tests.Run, error) {
		change("run")
		return &sup.Tests.Runs[0], nil
	}
	sup.Tests.OnCancel = func(string) { change("cancel") }
	sup.OnCommit = func(string, *string, bool) error { change("commit"); return nil }
	sup.OnAct = func(string, views.Action, []string) error { change("act"); return nil }
	sup.OnCancel = func(string) error { change("cancel"); return nil }
	h := sup.Members[0]
	h.OnVerb = func(_ context.Context, verb string) error {
		if verb != "wait" {
			change(verb)
		}
		return nil
	}
	h.OnCall = func(context.Context, control.Call) (codec.Raw, error) { change("call"); return nil, nil }
	h.OnAttach = func(context.Context, io.ReadWriteCloser) error { change("attach"); return nil }
	h.OnFile = func(context.Context, time.Duration, io.Writer) error { change("file"); return nil }
	inspect := h.OnInspect
	h.OnInspect = func(ctx context.Context) (*supervisor.Inspection, error) { change("inspect"); return inspect(ctx) }
	sup.Live, h.Said = nil, nil

	addr := console(t, sup, control.Options{Configuration: changing(change), Upgrader: upgrading(change), Samples: sampled(), Metrics: figures}, control.Access{})
	seen := 0
	for path, ops := range doc.doc["paths"].(map[string]any) {
		for method, op := range ops.(map[string]any) {
			op := op.(map[string]any)
			seen++
			least := control.Role(op["security"].([]any)[0].(map[string]any)["token"].([]any)[0].(string))
			id := op["operationId"].(string)
			body := map[string]string{"call": `{"method":"m"}`, "notify": `{"method":"m"}`, "activate": `{"event":"e"}`, "answer": `{"dismiss":true}`, "actInView": `{"action":"show"}`, "writeSourceControl": `{"accept":true}`, "runTests": `{}`, "decorations": `{"uris":["file:///x"]}`, "timeline": `{"uri":"file:///x"}`, "originals": `{"uri":"file:///x"}`, "language": `{"query":{"feature":"hover"}}`, "wait": `{"states":["running"]}`, "profile": `{"seconds":1}`, "plan": "{}", "upgrade": "{}", "addHosts": `{"path":"/x.hcl"}`}[id]
			at := strings.NewReplacer("{host}", "ts", "{id}", "golang.go", "{verb}", "disable").Replace(path)
			if id == "logs" || id == "allLogs" {
				at += "?n=1"
			}
			if id == "crash" {
				at = "/v1/crashes/c1"
			}
			rank := map[control.Role]int{control.RoleRead: 1, control.RoleOperate: 2, control.RoleFull: 3}
			for _, role := range control.Roles() {
				changed = nil
				may := rank[role] >= rank[least]
				if id == "messages" && may { // it has no end
					continue
				}
				res, text := ask(t, addr, strings.ToUpper(method), at, body, "Authorization", "Bearer "+secretOf(role))
				switch {
				case !may && (res.StatusCode != http.StatusForbidden || classIn(t, text) != control.Forbidden):
					t.Errorf("%s with the role %s: %d %s", id, role, res.StatusCode, text)
				case may && res.StatusCode != http.StatusOK:
					t.Errorf("%s with the role %s: %d %s", id, role, res.StatusCode, text)
				case (!may || role == control.RoleRead) && changed != nil:
					t.Errorf("%s with the role %s did %v", id, role, changed)
				case may && least != control.RoleRead && changed == nil && id != "console" && id != "plan":
					t.Errorf("%s with the role %s did nothing", id, role)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d operations", seen)
	}
}

// upgrading is an Upgrader that tells what it does.
type upgrading func(what string)

func (u upgrading) Upgrade(_ context.Context, path string, drain time.Duration) (*control.Upgraded, error) {
	u(fmt.Sprint("upgrade ", path, drain))
	return &control.Upgraded{From: "v1", To: "v2", PID: 2, Pause: 0.25, Stayed: []string{"ts"}}, nil
}

// figures stands for what package metrics serves.
var figures = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprintln(w, "up 1")
})

func TestMetricsAreServed(t *testing.T) {
	bearer := "Bearer " + secretOf(control.RoleRead)
	addr := console(t, everything(), control.Options{Metrics: figures}, control.Access{})
	for _, tt := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/metrics", bearer, 200},
		{"GET", "/metrics", "", 401},
		{"POST", "/metrics", bearer, 404},
		{"GET", "/metrics/", bearer, 404},
		{"GET", "/metrics?x=1", bearer, 400},
		{"GET", "/v1/metrics", bearer, 404},
	} {
		res, text := ask(t, addr, tt.method, tt.path, "", "Authorization", tt.token)
		if res.StatusCode != tt.status || tt.status == 200 && string(text) != "up 1\n" {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, res.StatusCode, text)
		}
	}
	without := console(t, everything(), control.Options{}, control.Access{})
	if res, text := ask(t, without, "GET", "/metrics", "", "Authorization", bearer); res.StatusCode != 404 || classIn(t, text) != control.Unknown {
		t.Errorf("%d %s", res.StatusCode, text)
	}
}

// A page asks for its role, so that it offers nothing that would be refused.
func TestCallerLearnsItsRole(t *testing.T) {
	addr := console(t, everything(), control.Options{}, control.Access{})
	for _, role := range control.Roles() {
		_, text := ask(t, addr, "GET", "/v1/caller", "", "Authorization", "Bearer "+secretOf(role))
		if want := fmt.Sprintf(`{"token":"of %s","role":"%s"}`, role, role); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// Diagnostics show lines of a file, which those who see them by a network may not be able to
// read otherwise: only what is called a configuration is read for them.
func TestConsoleReadsConfigurationsOnly(t *testing.T) {
	did := 0
	opt := control.Options{Configuration: changing(func(string) { did++ })}
	addr := console(t, everything(), opt, control.Access{})
	for path, class := range map[string]control.Class{"/etc/shadow": control.Invalid, "/etc/x.hcl/../shadow": control.Invalid, "/etc/x.hcl": ""} {
		for _, at := range []string{"/v1/plan", "/v1/hosts"} {
			res, text := ask(t, addr, http.MethodPost, at, fmt.Sprintf(`{"path":%q}`, path), "Authorization", "Bearer "+secretOf(control.RoleFull))
			if class == "" && res.StatusCode != http.StatusOK || class != "" && classIn(t, text) != class {
				t.Errorf("%s of %s: %d %s", at, path, res.StatusCode, text)
			}
		}
	}
	if did != 1 {
		t.Errorf("%d changes", did)
	}
	c := control.NewClient(controltest.Serve(t, everything(), opt))
	defer c.Close()
	if _, err := c.Add(t.Context(), "/etc/anything", nil); err != nil {
		t.Errorf("by the control socket: %v", err)
	}
}

// changing is a [control.Configuration] that calls itself for what changes something.
type changing func(what string)

func (c changing) Plan(context.Context, string, map[string]string) (*control.Applied, error) {
	return &control.Applied{}, nil
}

func (c changing) Reload(context.Context) (*control.Applied, error) {
	c("reload")
	return &control.Applied{}, nil
}

func (c changing) Add(context.Context, string, map[string]string) (*control.Applied, error) {
	c("add")
	return &control.Applied{}, nil
}

func (c changing) Remove(context.Context, string) (*control.Applied, error) {
	c("remove")
	return &control.Applied{}, nil
}

func (c changing) Status() *supervisor.ConfigStatus { return nil }

// A caller without a token cannot hold a connection by sending slowly, and one that
// sends too much is told so.
func TestConsoleBounds(t *testing.T) {
	addr := console(t, everything(), control.Options{MaxBody: 1 << 16}, control.Access{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "POST /v1/hosts/ts/call HTTP/1.1\r\nHost: %s\r\nContent-Length: 100000\r\n\r\n{", addr)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 401 || !res.Close {
		t.Errorf("%d, close %v", res.StatusCode, res.Close)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays: %v", err)
	}

	big := `{"method":"` + strings.Repeat("m", 1<<17) + `"}`
	got, text := ask(t, addr, "POST", "/v1/hosts/ts/call", big, "Authorization", "Bearer "+secretOf(control.RoleFull))
	if got.StatusCode != 413 || classIn(t, text) != control.TooLarge {
		t.Errorf("%d %s", got.StatusCode, text)
	}
	got, _ = ask(t, addr, "GET", "/v1/status", "", "Authorization", "Bearer "+strings.Repeat("x", 1<<17))
	if got.StatusCode != 431 {
		t.Errorf("a header of 128 KiB: %d", got.StatusCode)
	}
	if _, text = ask(t, addr, "GET", "/v1/status", "", "Authorization", "Bearer "+secretOf(control.RoleRead)); !bytes.Contains(text, []byte(`"ts"`)) {
		t.Errorf("afterwards: %s", text)
	}
}

// Connections on the network are counted by themselves: the command line finds room.
func TestConsoleLeavesRoomForTheSocket(t *testing.T) {
	sup := everything()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(sup, control.Options{MaxConns: 4})
	done := make(chan error, 1)
	go func() { done <- srv.ServeConsole(l, control.Access{}) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	for range 10 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if res, text := ask(t, l.Addr().String(), "GET", "/v1/status", ""); res.StatusCode != 503 || classIn(t, text) != control.Overloaded {
		t.Errorf("%d %s", res.StatusCode, text)
	}
}

// A client of a console learns the role of its token, and one of a control socket that it may
// do everything.
func TestClientLearnsItsRole(t *testing.T) {
	addr := console(t, everything(), control.Options{}, control.Access{})
	for _, role := range control.Roles() {
		c, err := control.NewURLClient("http://"+addr, secretOf(role))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Caller(t.Context()); err != nil || got.Role != role || got.Token == nil || *got.Token != "of "+string(role) {
			t.Errorf("%+v, %v", got, err)
		}
		c.Close()
	}
	c := control.NewClient(controltest.Serve(t, everything(), control.Options{}))
	defer c.Close()
	if got, err := c.Caller(t.Context()); err != nil || got.Role != control.RoleFull || got.Token != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is served in place of the API is for those alone who may use it.
func TestHandlerServesThoseAdmitted(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control.BeginStream(w)
		_, _ = io.WriteString(w, r.URL.Path+" for "+control.TokenName(r.Context())) // the test reads it
	})
	access := control.Access{Handler: handler, Setting: `serve "mcp"`, Origins: []string{"https://friend.example"}, Sent: []string{"Mcp-Session-Id"}, Read: []string{"Mcp-Session-Id"}, MaxConns: 4}
	addr := console(t, everything(), control.Options{}, access)
	bearer := []string{"Authorization", "Bearer " + secretOf(control.RoleRead)}
	if res, text := ask(t, addr, "GET", "/v1/status", "", bearer...); res.StatusCode != 200 || string(text) != "/v1/status for of read" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if res, text := ask(t, addr, "POST", "/mcp", "{}"); res.StatusCode != 401 || classIn(t, text) != control.Unauthorized {
		t.Errorf("without a token: %d %s", res.StatusCode, text)
	}
	for _, head := range []string{"Host", "Origin"} {
		if res, text := ask(t, addr, "POST", "/mcp", "{}", append([]string{head, "https://evil.example"}, bearer...)...); res.StatusCode != 403 || !strings.Contains(string(text), `serve \"mcp\".`) {
			t.Errorf("another %s: %d %s", head, res.StatusCode, text)
		}
	}
	res, _ := ask(t, addr, "OPTIONS", "/mcp", "", "Origin", "https://friend.example", "Access-Control-Request-Method", "POST")
	if res.StatusCode != 204 || !strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") {
		t.Errorf("before a page's request: %d %v", res.StatusCode, res.Header)
	}
	res, _ = ask(t, addr, "POST", "/mcp", "{}", append([]string{"Origin", "https://friend.example"}, bearer...)...)
	if res.StatusCode != 200 || res.Header.Get("Access-Control-Expose-Headers") != "Mcp-Session-Id" {
		t.Errorf("a page's request: %d %v", res.StatusCode, res.Header)
	}
	access.Open = true
	if res, text := ask(t, console(t, everything(), control.Options{}, access), "POST", "/mcp", "{}"); res.StatusCode != 200 || string(text) != "/mcp for " {
		t.Errorf("where none is needed: %d %s", res.StatusCode, text)
	}
}
