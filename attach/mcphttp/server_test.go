package mcphttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// server is a Server in front of what a test plays.
type server struct {
	*Server
	programs chan *program
}

// program is what has attached to the host.
type program struct {
	rw    io.ReadWriteCloser
	lines *bufio.Reader
	ctx   context.Context
	end   chan error // what Attach returns
}

func (p *program) reads(t *testing.T, want string) {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil || !strings.Contains(line, want) {
		t.Fatalf("the host reads %q %v, want %q", line, err, want)
	}
}

func (p *program) says(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.rw, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

func serve(t *testing.T, opt Options) *server {
	t.Helper()
	s := &server{programs: make(chan *program, 16)}
	opt.Hosts = append(opt.Hosts, "h")
	opt.Find = func(string) (Host, error) {
		return Host{Protocol: jsonrpc.Lines(jsonrpc.Options{}), Limits: codec.Limits{}.WithDefaults()}, nil
	}
	opt.Attach = func(ctx context.Context, _ string, rw io.ReadWriteCloser) error {
		p := &program{rw: rw, lines: bufio.NewReader(rw), ctx: ctx, end: make(chan error, 1)}
		s.programs <- p
		select {
		case err := <-p.end:
			_ = rw.Close()
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.Server = New(opt)
	t.Cleanup(func() { s.Close(errors.New("the test is over")) })
	return s
}

// answer is a response.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// do makes a request without a network. header has pairs.
func (s *server) do(ctx context.Context, method, path, body string, header ...string) answer {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// start makes a request that is answered later.
func (s *server) start(ctx context.Context, method, body string, header ...string) <-chan answer {
	out := make(chan answer, 1)
	go func() { out <- s.do(ctx, method, "/mcp", body, header...) }()
	return out
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// session begins one.
func (s *server) session(t *testing.T) (id string, p *program) {
	t.Helper()
	reply := s.start(t.Context(), "POST", initialize)
	p = <-s.programs
	p.reads(t, "initialize")
	p.says(t, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	res := <-reply
	id = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || len(id) < 20 || !strings.Contains(res.Body, `"2025-11-25"`) {
		t.Fatalf("initialize: %d, session %q", res.StatusCode, id)
	}
	return id, p
}

func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{})
		id, p := s.session(t)
		call := s.start(t.Context(), "POST", "{\"jsonrpc\":\"2.0\",\n\"id\":1, \"method\":\"m\"}", headerSession, id)
		p.reads(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.says(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if res := <-call; res.StatusCode != 200 || res.Header.Get("Content-Type") != typeJSON || res.Body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("a call: %d %v", res.StatusCode, res.Header)
		}
		if res := s.do(t.Context(), "POST", "/h/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headerSession, id); res.StatusCode != 202 || res.Body != "" {
			t.Errorf("a notification: %d", res.StatusCode)
		}
		p.reads(t, "initialized")
		if res := s.do(t.Context(), "DELETE", "/mcp", "", headerSession, id); res.StatusCode != 204 {
			t.Errorf("DELETE: %d", res.StatusCode)
		}
		<-p.ctx.Done()
		if res := s.do(t.Context(), "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"m"}`, headerSession, id); res.StatusCode != 404 {
			t.Errorf("after DELETE: %d", res.StatusCode)
		}
	})
}

// A call that takes long, or that says something before its answer, is answered with events.
func TestLongCallIsAStream(t *testing.T) {
	for name, first := range map[string]string{
		"slow":     "",
		"progress": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, Options{})
				id, p := s.session(t)
				call := s.start(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1}}}`, headerSession, id)
				p.reads(t, `"m"`)
				want := "id: 2-0\ndata:\n\n"
				if first != "" {
					p.says(t, first)
					want += "id: 2-1\nevent: message\ndata: " + first + "\n\n"
				} else {
					time.Sleep(40 * time.Second) //nolint:forbidigo // in a bubble
					want += ":\n\n:\n\n"
				}
				said := `{"jsonrpc":"2.0","id":1,"result":{}}`
				p.says(t, said)
				number := strings.Count(want, "event:") + 1
				want += fmt.Sprintf("id: 2-%d\nevent: message\ndata: %s\n\n", number, said)
				res := <-call
				if got := res.Body; res.Header.Get("Content-Type") != typeEvents || got != want {
					t.Errorf("%v %q, want %q", res.Header, got, want)
				}
				last := fmt.Sprintf("2-%d", number)
				if res := s.do(t.Context(), "GET", "/mcp", "", headerSession, id, headerLast, last, "Accept", typeEvents); res.StatusCode != 204 {
					t.Errorf("a GET behind the end: %d", res.StatusCode)
				}
				if res := s.do(t.Context(), "GET", "/mcp", "", headerSession, id, headerLast, "2-0", "Accept", typeEvents); !strings.Contains(res.Body, said) {
					t.Errorf("a GET from the beginning: %d", res.StatusCode)
				}
			})
		})
	}
}

// What ends a session answers its calls, whatever it is.
func TestEndOfSessionAnswersCalls(t *testing.T) {
	for name, end := range map[string]func(context.Context, *server, *program, string){
		"the host":       func(_ context.Context, _ *server, p *program, _ string) { p.end <- errors.New("came back different") },
		"the supervisor": func(_ context.Context, s *server, _ *program, _ string) { s.Close(errors.New("is stopped")) },
		"its client": func(ctx context.Context, s *server, _ *program, id string) {
			s.do(ctx, "DELETE", "/mcp", "", headerSession, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, Options{})
				id, p := s.session(t)
				short := s.start(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"m"}`, headerSession, id)
				p.reads(t, `"m"`)
				long := s.start(t.Context(), "POST", `{"jsonrpc":"2.0","id":"b","method":"m"}`, headerSession, id)
				p.reads(t, `"m"`)
				p.says(t, `{"jsonrpc":"2.0","method":"x"}`) // to the last
				standing := s.start(t.Context(), "GET", "", headerSession, id, "Accept", typeEvents)
				synctest.Wait()
				end(t.Context(), s, p, id)
				if got := (<-short).Body; !strings.Contains(got, `"id":1,"error":{"code":-32603`) {
					t.Errorf("a call: %s", got)
				}
				if got := (<-long).Body; !strings.Contains(got, `"id":"b","error":{"code":-32603`) {
					t.Errorf("a call with a stream: %s", got)
				}
				<-standing
			})
		})
	}
}

func TestUnusedSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{Idle: time.Minute})
		id, p := s.session(t)
		ctx, cancel := context.WithCancel(t.Context())
		standing := s.start(ctx, "GET", "", headerSession, id, "Accept", typeEvents)
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble
		if p.ctx.Err() != nil {
			t.Fatal("it has ended while it was in use")
		}
		cancel()
		<-standing
		left := time.Now()
		<-p.ctx.Done()
		if d := time.Since(left); d != time.Minute {
			t.Errorf("it ended after %v", d)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{MaxSessions: 2})
		a, pa := s.session(t)
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		b, pb := s.session(t)
		held := s.start(t.Context(), "GET", "", headerSession, a, "Accept", typeEvents)
		synctest.Wait()
		_, pc := s.session(t)
		<-pb.ctx.Done() // it is not in use
		if pa.ctx.Err() != nil || pc.ctx.Err() != nil {
			t.Error("another one has ended too")
		}
		if res := s.do(t.Context(), "DELETE", "/mcp", "", headerSession, b); res.StatusCode != 404 {
			t.Errorf("the one that has ended: %d", res.StatusCode)
		}
		s.Close(errors.New("is stopped"))
		<-held
		if res := s.do(t.Context(), "POST", "/mcp", initialize); res.StatusCode != 503 {
			t.Errorf("after the end: %d", res.StatusCode)
		}
	})
}

func TestSessionsInUseAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{MaxSessions: 1})
		a, _ := s.session(t)
		held := s.start(t.Context(), "GET", "", headerSession, a, "Accept", typeEvents)
		synctest.Wait()
		if res := s.do(t.Context(), "POST", "/mcp", initialize); res.StatusCode != 503 || !strings.Contains(res.Body, "1 sessions in use") {
			t.Errorf("one too many: %d", res.StatusCode)
		}
		s.do(t.Context(), "DELETE", "/mcp", "", headerSession, a)
		<-held
	})
}

// A session is its caller's own, and its host's.
func TestSessionOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{Hosts: []string{"other"}, Caller: func(r *http.Request) string { return r.Header.Get("Who") }})
		reply := make(chan answer, 1)
		go func() { reply <- s.do(t.Context(), "POST", "/h/mcp", initialize, "Who", "a") }()
		p := <-s.programs
		p.reads(t, "initialize")
		p.says(t, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		id := (<-reply).Header.Get(headerSession)
		for want, ask := range map[int][]string{204: {"/h/mcp", "a"}, 404: {"/other/mcp", "a"}} {
			if res := s.do(t.Context(), "DELETE", ask[0], "", headerSession, id, "Who", "b"); res.StatusCode != 404 {
				t.Errorf("another caller: %d", res.StatusCode)
			}
			if want == 404 {
				if res := s.do(t.Context(), "DELETE", ask[0], "", headerSession, id, "Who", ask[1]); res.StatusCode != want {
					t.Errorf("%v: %d", ask, res.StatusCode)
				}
			}
		}
		if res := s.do(t.Context(), "POST", "/mcp", initialize); res.StatusCode != 404 {
			t.Errorf("/mcp of several hosts: %d", res.StatusCode)
		}
	})
}

// An initialize that fails, or that nobody waits for any more, begins no session.
func TestFailedInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{MaxSessions: 1})
		reply := s.start(t.Context(), "POST", initialize)
		p := <-s.programs
		p.reads(t, "initialize")
		p.says(t, `{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}`)
		if res := <-reply; res.Header.Get(headerSession) != "" || !strings.Contains(res.Body, `"no"`) {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
		<-p.ctx.Done()
		ctx, cancel := context.WithCancel(t.Context())
		reply = s.start(ctx, "POST", initialize)
		p = <-s.programs
		cancel()
		<-reply
		<-p.ctx.Done()
		s.session(t)
	})
}

// A request of a revision without sessions is a program of its own.
func TestRequestWithoutSession(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ä","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	head := []string{headerVersion, "2026-07-28", headerMethod, "tools/call", headerName, "=?base64?w6Q=?="}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{})
		reply := s.start(t.Context(), "POST", call, head...)
		p := <-s.programs
		p.reads(t, "tools/call")
		p.says(t, `{"jsonrpc":"2.0","method":"notifications/message"}`)
		p.says(t, `{"jsonrpc":"2.0","id":7,"result":{}}`)
		want := "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"
		if got := (<-reply).Body; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		<-p.ctx.Done() // it has left
		// Whoever leaves takes the request back.
		ctx, cancel := context.WithCancel(t.Context())
		reply = s.start(ctx, "POST", call, head...)
		p = <-s.programs
		p.reads(t, "tools/call")
		cancel()
		<-p.ctx.Done()
		<-reply
		// The headers have to say what the body does.
		for i := 1; i < len(head); i += 2 {
			other := append([]string{}, head...)
			other[i] = "2026-07-29"
			res := s.do(t.Context(), "POST", "/mcp", call, other...)
			if got := res.Body; res.StatusCode != 400 || !strings.Contains(got, `"id":7,"error":{"code":-32020`) {
				t.Errorf("%s: %d %s", other[i-1], res.StatusCode, got)
			}
		}
		if res := s.do(t.Context(), "GET", "/mcp", "", headerVersion, "2026-07-28"); res.StatusCode != 405 {
			t.Errorf("GET: %d", res.StatusCode)
		}
	})
}

// A reader that takes nothing holds up the server's side of its session, and nothing else.
func TestSlowReaderHoldsUpItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{})
		id, p := s.session(t)
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/mcp", nil)
		r.Header.Set(headerSession, id)
		recorder := httptest.NewRecorder()
		w := &stuck{ResponseWriter: recorder, release: make(chan struct{})}
		served := make(chan struct{})
		go func() { defer close(served); s.ServeHTTP(w, r) }()
		synctest.Wait()
		note := `{"jsonrpc":"2.0","method":"note","params":"` + strings.Repeat("x", 400<<10) + `"}`
		said := make(chan int, 16)
		go func() {
			defer close(said)
			for i := range 8 {
				if _, err := io.WriteString(p.rw, note+"\n"); err != nil {
					return
				}
				said <- i
			}
		}()
		synctest.Wait()
		if n := len(said); n == 0 || n > 3 {
			t.Errorf("%d notifications of 400 KiB were taken for a reader that takes none", n)
		}
		other, po := s.session(t)
		call := s.start(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"m"}`, headerSession, other)
		po.reads(t, `"m"`)
		po.says(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		<-call
		close(w.release)
		for range said {
		}
		synctest.Wait()
		s.do(t.Context(), "DELETE", "/mcp", "", headerSession, id)
		<-served
		if n := strings.Count(recorder.Body.String(), "event: message"); n != 8 {
			t.Errorf("%d notifications came through, want 8", n)
		}
	})
}

// stuck is a response that nobody takes for a while.
type stuck struct {
	http.ResponseWriter
	release chan struct{}
}

func (w *stuck) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "event:") {
		<-w.release
	}
	return w.ResponseWriter.Write(b)
}

func (w *stuck) Unwrap() http.ResponseWriter { return w.ResponseWriter }
