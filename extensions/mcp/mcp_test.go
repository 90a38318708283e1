package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

func TestNamesAreValidAndDistinct(t *testing.T) {
	long := strings.Repeat("a", 70)
	tools := []Tool{{Name: "acme_add"}, {Name: "command_git.init"}, {Name: "command_git_init"}, {Name: long}, {Name: long + "b"}, {Name: "ä"}, {Name: ""}}
	Names(tools)
	seen := map[string]bool{}
	for _, x := range tools {
		if seen[x.Name] || x.Name == "" || len(x.Name) > maxName || strings.Trim(x.Name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			t.Errorf("%q", x.Name)
		}
		seen[x.Name] = true
	}
	if tools[0].Name != "acme_add" || tools[1].Name != "command_git_init" {
		t.Errorf("%+v", tools[:2])
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		id, pattern string
		want        bool
	}{
		{"git.init", "git.*", true}, {"git.a.b", "git.*", true}, {"gitXinit", "git.*", false}, {"git", "git.*", false},
		{"a.b.c", "*.b.*", true}, {"x", "x", true}, {"xy", "x", false}, {"a+b", "a+b", true}, {"a\nb", "a*", true},
	} {
		if got := Allowed(c.id, []string{"none", c.pattern}); got != c.want {
			t.Errorf("%q %q: %v", c.id, c.pattern, got)
		}
	}
	if Allowed("x", nil) {
		t.Error("without patterns a command is allowed")
	}
}

func TestCommandsHaveTheTitlesOfManifests(t *testing.T) {
	manifests := []json.RawMessage{
		[]byte(`{"contributes":{"commands":{"command":"a.one","title":{"value":"One","original":"x"},"category":"A"}}}`),
		[]byte(`{"contributes":{"commands":[{"command":"b.two","title":"Two"},{"command":"b.hidden","title":"H"}]}}`),
		[]byte(`{"contributes":1}`), []byte(`{}`),
	}
	got := Commands([]string{"a.one", "b.hidden", "b.two", "b.untitled"}, manifests, []string{"a.*", "b.t*", "b.u*"})
	titles := ""
	for _, c := range got {
		titles += fmt.Sprintf("%s=%s %s\n", c.ID, c.Title, c.Description)
	}
	const want = `a.one=A: One Executes the VS Code command a.one, "A: One".
b.two=Two Executes the VS Code command b.two, "Two".
b.untitled= Executes the VS Code command b.untitled.
`
	if titles != want {
		t.Errorf("%s", titles)
	}
}

func TestResults(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[{"kind":"text","value":"a"},{"kind":"promptTsx","value":{"node":1}}]}`:                                                            `[{"type":"text","text":"a"},{"type":"text","text":"{\"node\":1}"}]`,
		`{"$object":{"content":[{"kind":"data","value":{"mimeType":"image/png","data":{"$buffer":"cG5n"}}}],"toolResultMessage":{"$undefined":true}}}`: `[{"type":"image","mimeType":"image/png","data":"cG5n"}]`,
		`{"content":[{"kind":"data","value":{"mimeType":"audio/wav","data":{"$buffer":"cG5n"}}}]}`:                                                     `[{"type":"audio","mimeType":"audio/wav","data":"cG5n"}]`,
		`{"content":[{"kind":"data","value":{"mimeType":"application/x+json; charset=utf-8","data":{"$buffer":"e30="}}}]}`:                             `[{"type":"text","text":"{}"}]`,
		`{"content":[{"kind":"data","value":{"mimeType":"application/zip","data":{"$buffer":"cG5n"}}}]}`:                                               `[{"type":"resource","resource":{"uri":"hostsup:result/1","mimeType":"application/zip","blob":"cG5n"}}]`,
		`{"content":[],"toolResultError":"it broke"}`:                                                                                                  `error [{"type":"text","text":"it broke"}]`,
		`{"content":[],"toolResultError":true}`:                                                                                                        `error []`,
	} {
		out, err := ToolResult(json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		got, err := json.Marshal(out.Content)
		if err != nil {
			t.Fatal(err)
		}
		text := string(got)
		if out.IsError {
			text = "error " + text
		}
		if text != want {
			t.Errorf("%s: %s", raw, text)
		}
	}
	for _, raw := range []string{`[]`, `{"content":[{"kind":"text","value":1}]}`, `{"content":[{"kind":"data","value":{"data":"x"}}]}`} {
		if _, err := ToolResult(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is accepted", raw)
		}
	}
	for raw, want := range map[string]string{
		``: "The command was executed and has returned nothing.", `null`: "The command was executed and has returned nothing.",
		`{"$undefined":true}`: "The command was executed and has returned nothing.", `"a"`: "a", `[1,"b"]`: `[1,"b"]`,
		`{"$object":{"a":{"$undefined":true}}}`: `{"a":null}`,
	} {
		if got := CommandResult(json.RawMessage(raw)).Content[0].(*sdk.TextContent).Text; got != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
}

func TestSchemasAreOfObjects(t *testing.T) {
	for schema, want := range map[string]string{
		"": anyObject, "null": anyObject, "[]": anyObject, `{"type":"string"}`: anyObject, `{"type":["object"]}`: anyObject,
		`{"properties":{}}`: `{"properties":{},"type":"object"}`, `{"type":"object","x":1}`: `{"type":"object","x":1}`,
	} {
		if got := string(object(json.RawMessage(schema))); got != want {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

// served is a server with tools that the test changes, and a client of it.
type served struct {
	*Server
	client   *sdk.ClientSession
	changed  chan struct{}
	progress chan *sdk.ProgressNotificationParams
	ended    chan error

	mu   sync.Mutex
	list []Tool
}

func serve(t *testing.T, list ...Tool) *served {
	t.Helper()
	s := &served{changed: make(chan struct{}, 100), progress: make(chan *sdk.ProgressNotificationParams, 100), ended: make(chan error, 1), list: list}
	outlook := func(_ context.Context, err *actors.HostError) string {
		if errors.Is(err, actors.ErrFailed) {
			return "A person can start it."
		}
		return "The host is started again, and the tool can be called again."
	}
	s.Server = New(Options{Host: "code", Outlook: outlook, List: func(context.Context) ([]Tool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.list, nil
	}})
	near, far := net.Pipe()
	go func() { s.ended <- s.Serve(context.Background(), far) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.changed <- struct{}{} },
		ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) {
			s.progress <- q.Params
		},
	})
	var err error
	if s.client, err = client.Connect(t.Context(), &sdk.IOTransport{Reader: near, Writer: near}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Close()
		s.Close(errors.New("the end"))
	})
	return s
}

func (s *served) set(list ...Tool) {
	s.mu.Lock()
	s.list = list
	s.mu.Unlock()
	s.Changed()
}

func (s *served) text(t *testing.T, name string) string {
	t.Helper()
	q := &sdk.CallToolParams{Name: name}
	q.SetProgressToken("p")
	out, err := s.client.CallTool(t.Context(), q)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(out.IsError, " ", out.Content[0].(*sdk.TextContent).Text)
}

func fails(name string, err error) Tool {
	return Tool{Name: name, Of: "The tool " + name, Invoke: func(context.Context, json.RawMessage, func(Progress)) (*Result, error) { return nil, err }}
}

func TestToolsThatOnlyReadSaySo(t *testing.T) {
	reads, acts := fails("reads", nil), fails("acts", nil)
	reads.Title, reads.ReadOnly = "Reads", true
	s := serve(t, reads, acts)
	list, err := s.client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, tool := range list.Tools {
		if a := tool.Annotations; tool.Name == "acts" && a != nil || tool.Name == "reads" && (a == nil || !a.ReadOnlyHint || a.Title != "Reads") {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
}

func TestErrorsAreResults(t *testing.T) {
	s := serve(t,
		fails("plain", errors.New("broken")),
		fails("typed", &codec.Error{Name: "TypeError", Message: "x is null"}),
		fails("error", &codec.Error{Name: "Error", Message: "no numbers"}),
		fails("crash", &actors.HostError{Host: "code", Err: actors.ErrCrashed, Reason: "killed by SIGKILL"}),
		fails("beside", &actors.HostError{Host: "beside", Life: 3, Err: actors.ErrFailed}),
		fails("failed", &actors.HostError{Host: "code", Err: actors.ErrFailed, Reason: "killed by SIGKILL: crash 3 in 5m0s, given up"}),
	)
	for name, want := range map[string]string{
		"plain": "true broken", "typed": "true TypeError: x is null", "error": "true no numbers",
		"crash":  `true The tool crash has not finished: its extension host "code" ended while it ran. What it had done by then is not undone. The host is started again, and the tool can be called again. The host: killed by SIGKILL.`,
		"beside": `true The tool beside has not finished: its extension host "beside" ended while it ran. What it had done by then is not undone. A person can start it.`,
		"failed": `true The tool failed has not run: its extension host "code" does not run. A person can start it. The host: killed by SIGKILL: crash 3 in 5m0s, given up.`,
	} {
		if got := s.text(t, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestChangesAreTold(t *testing.T) {
	s := serve(t, fails("one", errors.New("1")))
	s.set(fails("two", errors.New("2")))
	<-s.changed
	for !strings.Contains(s.text(t, "one"), "unknown tool") {
		<-s.changed
	}
	for !strings.Contains(s.text(t, "two"), "true 2") {
		<-s.changed
	}
}

func TestProgressIsTold(t *testing.T) {
	more := make(chan struct{})
	s := serve(t, Tool{Name: "slow", Invoke: func(_ context.Context, _ json.RawMessage, report func(Progress)) (*Result, error) {
		report(Progress{Message: "half", Done: 0.5})
		<-more
		return CommandResult(json.RawMessage(`"done"`)), nil
	}})
	go func() {
		p := <-s.progress
		if p.Message != "half" || p.Progress != 0.5 || p.Total != 1 {
			t.Errorf("%+v", p)
		}
		close(more)
	}()
	if got := s.text(t, "slow"); got != "false done" {
		t.Error(got)
	}
}

func TestCloseEndsSessions(t *testing.T) {
	reason := errors.New("the host was removed")
	running := make(chan struct{})
	s := serve(t, Tool{Name: "wait", Invoke: func(ctx context.Context, _ json.RawMessage, _ func(Progress)) (*Result, error) {
		close(running)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = s.client.CallTool(context.Background(), &sdk.CallToolParams{Name: "wait"}) // the session ends
	}()
	<-running
	s.Close(reason)
	if err := <-s.ended; !errors.Is(err, reason) {
		t.Error(err)
	}
	<-answered
	near, far := net.Pipe()
	defer near.Close()
	if err := s.Serve(t.Context(), far); !errors.Is(err, reason) {
		t.Error(err)
	}
}
