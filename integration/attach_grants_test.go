//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func init() { roles["language-server"] = playLanguageServer }

// languageServer is a host that does what it is told: "ask" makes it ask its
// client, and answers with what that has said; "hang" is never answered.
func languageServer(name string) supervisor.HostSpec {
	h := demoHost(name, plays("language-server"))
	h.Protocol = jsonrpc.Headers(jsonrpc.Options{})
	h.Restart.MaxCrashes = 10
	h.Liveness.NeverKill = true
	return h
}

func playLanguageServer() int {
	s := jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{})
	say := func(m *codec.Message) {
		b, err := s.Append(nil, m)
		if err == nil {
			_, err = os.Stdout.Write(b)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	asked := map[uint32]uint32{} // own requests, by whose behalf
	next := uint32(0)
	r := s.NewReader(os.Stdin)
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return 0
		}
		switch {
		case m.Kind == codec.Response:
			out := codec.Message{Kind: codec.Response, ID: asked[m.ID], Result: m.Result, Err: m.Err}
			delete(asked, m.ID)
			say(&out)
		case m.Kind == codec.Request && m.Method == "initialize":
			say(&codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw(`{"capabilities":{}}`)})
		case m.Kind == codec.Request && m.Method == "ask":
			var q struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal(m.Params, &q); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			next++
			asked[next] = m.ID
			say(&codec.Message{Kind: codec.Request, ID: next, Method: q.Method, Params: codec.Raw(q.Params)})
		case m.Kind == codec.Request && m.Method == "hang":
		case m.Kind == codec.Request:
			say(&codec.Message{Kind: codec.Response, ID: m.ID})
		case m.Kind == codec.Notification && m.Method == "exit":
			return 0
		}
	}
}

// editor is a client of the language server that writes down what it is asked.
type editor struct {
	*attached
	asks chan codec.Message
}

func newEditor(t *testing.T, sup *supervisor.Supervisor, dir string) *editor {
	t.Helper()
	e := &editor{asks: make(chan codec.Message, 100)}
	e.attached = attachTo(t, sup, "ls", jsonrpc.Headers(jsonrpc.Options{}))
	e.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
		e.asks <- codec.Message{Method: method, Params: params}
		return nil, nil
	})
	e.must("initialize", opening(dir))
	e.tell("initialized", dict{})
	return e
}

// hears takes what the client is asked next.
func (e *editor) hears(method string, parts ...string) {
	e.t.Helper()
	select {
	case m := <-e.asks:
		if !noted(method, parts...)(m) {
			e.t.Fatalf("it is asked %s %s, want %s %v", m.Method, m.Params, method, parts)
		}
	case <-ctx(e.t).Done():
		e.t.Fatalf("it is not asked %s %v", method, parts)
	}
}

// heard says that the client has been asked nothing else.
func (e *editor) heard() {
	e.t.Helper()
	select {
	case m := <-e.asks:
		e.t.Errorf("it is asked %s %s", m.Method, m.Params)
	default:
	}
}

func (e *editor) leave() {
	e.must("shutdown", nil)
	e.tell("exit", nil)
	<-e.served
}

func registering(ids ...string) dict {
	var list []dict
	for _, id := range ids {
		list = append(list, dict{"id": id, "method": "workspace/didChangeWatchedFiles", "registerOptions": dict{"of": id}})
	}
	return dict{"method": "client/registerCapability", "params": dict{"registrations": list}}
}

func unregistering(id string) dict {
	return dict{"method": "client/unregisterCapability", "params": dict{"unregisterations": []dict{{"id": id, "method": "workspace/didChangeWatchedFiles"}}}}
}

// What a language server has registered with a client outlives that client: the
// next one is asked the same, until the server takes it back or ends.
func TestAttachCapabilities(t *testing.T) {
	t.Parallel()
	const register, unregister = "client/registerCapability", "client/unregisterCapability"
	dir := t.TempDir()
	h := languageServer("ls")
	h.Attach = true
	sup, host := alone(t, h)
	one := newEditor(t, sup, dir)
	one.must("ask", registering("a", "b"))
	one.hears(register, `"a"`, `"b"`, "registerOptions")
	one.must("ask", unregistering("a"))
	one.hears(unregister, `"a"`)
	two := newEditor(t, sup, dir)
	two.must("ask", registering("c")) // whoever is behind it: the first is asked
	one.hears(register, `"c"`)
	two.must("hover", nil)
	two.heard()

	one.leave()
	two.hears(register, `"b"`, `"c"`, `"of":"c"`)
	two.must("ask", unregistering("c"))
	two.hears(unregister, `"c"`)
	_ = two.rw.Close() // without a word
	<-two.served

	three := newEditor(t, sup, dir)
	three.hears(register, `"b"`)
	signal(t, host, syscall.SIGKILL)
	three.hears(unregister, `"b"`)
	runs(t, host, 2)
	three.must("ask", registering("d"))
	three.hears(register, `"d"`)
	three.heard()

	// What comes while nobody is there is kept as well, and is not the old life's.
	_, answer := three.begin("ask", registering("e"))
	three.hears(register, `"e"`)
	if _, err := three.wait(answer); err != nil {
		t.Error(err)
	}
	three.leave()
	if err := host.Call(ctx(t), "ask", registering("f"), nil); err != nil {
		t.Errorf("while no client is there: %v", err)
	}
	if err := host.Call(ctx(t), "ask", unregistering("e"), nil); err != nil {
		t.Error(err)
	}
	four := newEditor(t, sup, dir)
	four.hears(register, `"d"`, `"f"`)
	four.heard()
	four.leave()
	if err := host.Restart(ctx(t)); err != nil {
		t.Fatal(err)
	}
	five := newEditor(t, sup, dir)
	five.must("ask", registering("g"))
	five.hears(register, `"g"`)
	five.heard()
}

// In LSP a request that is taken back is answered, in both directions.
func TestAttachCancel(t *testing.T) {
	t.Parallel()
	sup, host := alone(t, languageServer("ls"))
	e := newEditor(t, sup, t.TempDir())
	id, answer := e.begin("hang", nil)
	e.send(&codec.Message{Kind: codec.Cancel, ID: id})
	if _, err := e.wait(answer); err == nil || !strings.Contains(err.Error(), "Cancelled") {
		t.Errorf("a request that was cancelled: %v", err)
	}
	if s := host.Status(); s.State != lifecycle.Running {
		t.Error(s)
	}
	e.must("hover", nil)
}
