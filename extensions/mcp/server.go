package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"reflect"
	"sync"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/sessions"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/link"
)

// Options configures a [Server]. Host and List must be set.
type Options struct {
	Host string       // name of the host, for messages
	Log  hclog.Logger // nil: none
	// MaxMessage bounds a message of a client, in bytes. 0: the limit of the SDK.
	MaxMessage int
	// Outlook returns, as sentences for an agent, what becomes of a host that has ended or cannot be
	// called, as err says: whether it is started again, or what a person can do. nil: nothing is said.
	// It may block for a short time, until that is known.
	Outlook func(ctx context.Context, err *actors.HostError) string
	// List returns the present tools, with names that [Names] has made.
	List func(ctx context.Context) ([]Tool, error)
}

// Tool is a tool of a server.
type Tool struct {
	ID          string // of the tool or command
	Name        string // for clients; made by [Names]
	Title       string
	Description string
	Schema      json.RawMessage // of the input: a JSON schema with the type object
	// Of is the id of the tool or command, for messages.
	Of string
	// ReadOnly says that the tool changes nothing that a user has. Clients may call it without asking.
	ReadOnly bool
	// Invoke runs the tool. report may be called until Invoke returns. An error of the extension,
	// of its host or of ctx becomes a result that says so.
	Invoke func(ctx context.Context, input json.RawMessage, report func(Progress)) (*Result, error)
}

// Result is the result of a tool.
type Result = sdk.CallToolResult

// Progress is what a tool reports while it runs. Done is from 0 to 1, and negative if it is not
// known.
type Progress struct {
	Message string
	Done    float64
}

// Server serves tools to MCP clients. It must be made with [New]. It is safe for concurrent use.
type Server struct {
	opt     Options
	mcp     *sdk.Server
	changed chan struct{} // has room for one
	group   *sessions.Group

	following sync.Once // of the start of what follows changes

	mu    sync.Mutex
	tools map[string]Tool
}

// New returns a server without clients. Close releases it.
func New(opt Options) *Server {
	if opt.Log == nil {
		opt.Log = hclog.NewNullLogger()
	}
	s := &Server{opt: opt, changed: make(chan struct{}, 1), group: sessions.New(), tools: map[string]Tool{}}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "hostsup", Title: "VS Code extensions of " + opt.Host, Version: version.Version()}, &sdk.ServerOptions{
		Instructions: fmt.Sprintf("The tools and commands of VS Code extensions, which run in the extension host %q. An extension is activated by the first call of one of its tools.", opt.Host),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	return s
}

// Changed notes that List may return something else. It does not block.
func (s *Server) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Close ends all sessions and waits until they have ended. reason is why, for [Server.Serve].
func (s *Server) Close(reason error) { s.group.Close(reason) }

// Serve serves one client, and closes rw. It returns nil when the client has left by itself, and
// otherwise why the session has ended: the cause of ctx, or the reason of Close.
func (s *Server) Serve(ctx context.Context, rw io.ReadWriteCloser) error {
	own, err := s.group.Begin(ctx, rw)
	if err != nil {
		return err
	}
	defer own.End()
	s.following.Do(func() { s.group.Go(s.follow) })
	if err := s.refresh(own.Context); err != nil {
		return fmt.Errorf("list what the extensions of host %q offer: %w", s.opt.Host, err)
	}
	// The session is ended by closing it: the SDK would not wait for its tools otherwise.
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: rw, Writer: rw, MaxLineLength: s.opt.MaxMessage}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }() // ends with the session
	select {
	case err = <-ended:
		return left(err)
	case <-own.Context.Done():
		err = context.Cause(own.Context)
	}
	_ = rw.Close() // ends what is being read
	_ = session.Close()
	<-ended
	return err
}

// left returns the error of a session that the client has ended; nil if it has only left.
func left(err error) error {
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, sdk.ErrConnectionClosed} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	return err
}

// follow carries changes out.
func (s *Server) follow() {
	for {
		select {
		case <-s.changed:
			if err := s.refresh(s.group.Context()); err != nil && s.group.Context().Err() == nil {
				s.opt.Log.Warn("what extensions offer cannot be listed", "host", s.opt.Host, "error", err)
			}
		case <-s.group.Context().Done():
			return
		}
	}
}

// refresh makes the tools of the server those of List. The clients are told of the changes.
func (s *Server) refresh(ctx context.Context) error {
	list, err := s.opt.List(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	present := make(map[string]Tool, len(list))
	for _, t := range list {
		present[t.Name] = t
	}
	var gone []string
	for name := range s.tools {
		if _, ok := present[name]; !ok {
			gone = append(gone, name)
			delete(s.tools, name)
		}
	}
	if len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	for _, t := range list {
		if old, ok := s.tools[t.Name]; ok && same(old, t) {
			continue
		}
		s.tools[t.Name] = t
		if err := s.add(t, object(t.Schema)); err != nil {
			s.opt.Log.Warn("a tool has a schema that MCP does not allow, and is offered with any input", "host", s.opt.Host, "tool", t.ID, "error", err)
			if err := s.add(t, json.RawMessage(anyObject)); err != nil {
				s.opt.Log.Warn("a tool is not offered", "host", s.opt.Host, "tool", t.ID, "error", err)
			}
		}
	}
	return nil
}

// annotations returns what a client is told of the effects of a tool; nil: nothing is known.
func (t Tool) annotations() *sdk.ToolAnnotations {
	if !t.ReadOnly {
		return nil
	}
	open := false
	return &sdk.ToolAnnotations{Title: t.Title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &open}
}

// add adds a tool. The SDK panics if it refuses its schema, which is that of an extension.
func (s *Server) add(t Tool, schema json.RawMessage) error {
	return link.Contain(func() error {
		s.mcp.AddTool(&sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schema, Annotations: t.annotations()}, s.handler(t))
		return nil
	})
}

// same reports whether clients see no difference.
func same(a, b Tool) bool {
	a.Invoke, b.Invoke = nil, nil
	return reflect.DeepEqual(a, b)
}

// handler returns what the SDK calls for a tool.
func (s *Server) handler(t Tool) sdk.ToolHandler {
	return func(ctx context.Context, q *sdk.CallToolRequest) (*Result, error) {
		input := q.Params.Arguments
		if len(input) == 0 || string(input) == "null" {
			input = json.RawMessage("{}")
		}
		out, err := t.Invoke(ctx, input, s.reporter(ctx, q))
		if err != nil {
			out = s.failed(ctx, t.Of, err)
		}
		return out, nil
	}
}

// scale makes numbers of progress that only increase, as MCP demands. Reports without a number count 1 each.
// The first one with a number ends that: the total is what was counted by then, and 1. A number that does not
// increase becomes the next one that a float64 can have.
type scale struct {
	counted, last float64
	known         bool // the total is
	reported      bool
}

// next returns the numbers of a report; total is 0 if it is not known.
func (s *scale) next(done float64) (progress, total float64) {
	least := 0.0
	if s.reported {
		least = math.Nextafter(s.last, math.Inf(1))
	}
	s.reported = true
	switch {
	case done >= 0:
		s.known = true
		s.last = max(least, s.counted+done)
	case s.known:
		s.last = least
	default:
		s.counted++
		s.last = s.counted
	}
	if s.known {
		total = s.counted + 1
	}
	return s.last, total
}

// reporter returns what sends the progress of a call, in order, without blocking the caller on a
// client that does not read: while one report is sent, only the latest later one is kept.
func (s *Server) reporter(ctx context.Context, q *sdk.CallToolRequest) func(Progress) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return func(Progress) {}
	}
	var mu sync.Mutex
	var latest *Progress
	sending, numbers := false, scale{}
	send := func() {
		for {
			mu.Lock()
			p := latest
			latest = nil
			sending = p != nil
			if p == nil {
				mu.Unlock()
				return
			}
			out := &sdk.ProgressNotificationParams{ProgressToken: token, Message: p.Message}
			out.Progress, out.Total = numbers.next(p.Done)
			mu.Unlock()
			_ = q.Session.NotifyProgress(ctx, out) // the error is the end of the session
		}
	}
	return func(p Progress) {
		mu.Lock()
		latest = &p
		start := !sending
		sending = true
		mu.Unlock()
		if start {
			s.group.Go(send)
		}
	}
}

// failed returns the result for a tool that has failed, as an agent is to read it.
func (s *Server) failed(ctx context.Context, of string, err error) *Result {
	text := err.Error()
	var wrong *codec.Error
	var down *actors.HostError
	switch {
	case errors.As(err, &down):
		host := cmp.Or(down.Host, s.opt.Host)
		text = fmt.Sprintf("%s has not run: its extension host %q does not run.", of, host)
		if down.Life != 0 || errors.Is(err, actors.ErrCrashed) || errors.Is(err, actors.ErrUnresponsive) {
			text = fmt.Sprintf("%s has not finished: its extension host %q ended while it ran. What it had done by then is not undone.", of, host)
		}
		if s.opt.Outlook != nil {
			text += " " + s.opt.Outlook(ctx, down)
		}
		if down.Reason != "" {
			text += " The host: " + down.Reason + "."
		}
	case errors.As(err, &wrong):
		text = wrong.Message
		if wrong.Name != "" && wrong.Name != "Error" {
			text = wrong.Name + ": " + text
		}
	case errors.Is(err, actors.ErrTimeout):
		text = fmt.Sprintf("%s has not finished in time and was cancelled: %v. requests.timeout of host %q bounds it.", of, err, s.opt.Host)
	}
	return &Result{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
