package jsonrpc

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
)

// Options of a protocol; the zero value is the default of everything.
type Options struct {
	// Ping is the method of the request by which a host's life is asked for; it
	// is sent without params, and an error is as good an answer as any. Default:
	// "$/hostsup/ping" for language servers, "ping" for MCP servers that are
	// initialized, and none for those that have no session.
	Ping string
	// FailOnNoise ends a connection of [Lines] whose host prints a line that is
	// no message; else such lines are handed to who listens (see
	// [codec.SessionFeatures]) and skipped.
	FailOnNoise bool
}

// MethodPing is the request that language servers are asked for life with:
// none knows it, and by the rules of LSP each has to say so at once.
const MethodPing = "$/hostsup/ping"

// Headers returns the protocol "jsonrpc-headers": JSON-RPC 2.0 behind
// Content-Length headers, spoken as LSP.
func Headers(opt Options) codec.Protocol { return protocol{opt: opt} }

// Lines returns the protocol "jsonrpc-lines": one JSON-RPC 2.0 message on each
// line, spoken as MCP.
func Lines(opt Options) codec.Protocol { return protocol{opt: opt, lines: true} }

type protocol struct {
	Encoding
	opt   Options
	lines bool
}

func (p protocol) Name() string {
	if p.lines {
		return "jsonrpc-lines"
	}
	return "jsonrpc-headers"
}

func (protocol) Defaults() codec.Defaults {
	return codec.Defaults{Transport: "stdio", NeverKill: true}
}

func (p protocol) Features() codec.Features {
	return codec.Features{Reserved: p.reserved, Incremental: p.incremental}
}

// reserved: MCP reserves nothing. A server refuses a second initialize by itself,
// and one without sessions has no other way to be asked.
func (p protocol) reserved(method string) bool {
	return !p.lines && (method == "initialize" || method == "initialized" || method == "shutdown" || method == "exit")
}

func (p protocol) Open(lim codec.Limits) codec.Session {
	s := &Session{opt: p.opt, lines: p.lines, lim: lim.WithDefaults(), app: lsp{}}
	if p.lines {
		s.app = mcp{}
	}
	return s
}

// Session is the state of one connection. Append, the Reader and the handshake
// may each be used by another goroutine.
type Session struct {
	opt   Options
	lines bool
	lim   codec.Limits
	app   app
	noise func([]byte)

	ids      ids
	progress tokens
	meta     atomic.Pointer[meta] // of a host without session: what each request carries
	body     frame                // Append's

	mu      sync.Mutex
	request codec.Raw
	result  codec.Raw
}

// app is what is spoken over the framing.
type app interface {
	handshake(*Session, codec.Hello) codec.Handshake
	goodbye() (*codec.Message, []codec.Message)
	ping() string
	names() map[int64]string // of error codes

	cancels(method string) bool          // the notification by which a request is taken back
	cancelled(params []byte) []byte      // the id it names, as it is written
	progresses(method string) bool       // the notification that tells progress
	token() string                       // the member of its params that names the request
	cancel(dst []byte, id uint32) []byte // the message that takes request id back
	answersCancelled() bool              // a request that was taken back is answered with an error
	none() string                        // a result that says nothing

	// params makes of a request's params what is sent.
	params(s *Session, m *codec.Message, f *frame)
}

// NewReader reads messages from r.
func (s *Session) NewReader(r io.Reader) codec.Reader {
	if s.lines {
		return &lineReader{reader: newReader(s, r)}
	}
	return &headerReader{reader: newReader(s, r)}
}

// OnNoise has listen called for each line that is no message; a line of more
// than 64 KiB comes in pieces of that size.
func (s *Session) OnNoise(listen func(line []byte)) { s.noise = listen }

// Handshake opens the connection from the supervisor's side: initialize and
// initialized of LSP, or what MCP's revisions ask for.
//
// Hello.Init, which must be a map (or a struct, or a [codec.Raw] of an
// object), is put over the params of initialize, key by key.
func (s *Session) Handshake(h codec.Hello) codec.Handshake { return s.app.handshake(s, h) }

// Features returns what has to do with noise, the handshake and cancelled requests.
func (s *Session) Features() codec.SessionFeatures {
	return codec.SessionFeatures{Opened: s.Opened, OnNoise: s.OnNoise, Forget: s.Forget, Written: s.Written, AppendParts: s.AppendParts}
}

// Opened returns the params of the request that opened the connection and what
// was answered, once the handshake is done; before that nil.
func (s *Session) Opened() (request, result codec.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request, s.result
}

func (s *Session) opened(request, result codec.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request, s.result = request, result
}

// Ping returns the method that asks for life; "" for MCP hosts without a
// session, unless [Options] name one.
func (s *Session) Ping() string {
	if s.opt.Ping != "" {
		return s.opt.Ping
	}
	if s.sessionless() {
		return ""
	}
	return s.app.ping()
}

// Goodbye returns LSP's shutdown and exit; MCP has none but the end of the stream.
func (s *Session) Goodbye() (ask *codec.Message, last []codec.Message) { return s.app.goodbye() }

// Forget ends a request that the host has taken back: of MCP without an answer,
// as its specification has it, while LSP wants one.
func (s *Session) Forget(id uint32) bool {
	if s.app.answersCancelled() {
		return false
	}
	s.ids.forget(id)
	return true
}

// Written returns the id of an open request of the peer's as it is written; nil for
// none.
func (s *Session) Written(id uint32) codec.Raw { return codec.Raw(s.ids.original(id).id) }

func (s *Session) sessionless() bool { return s.meta.Load() != nil }

// caps are what is in force once the handshake is done.
func (s *Session) caps() codec.Caps {
	caps := codec.CapCancel | codec.CapAbandon
	if s.Ping() != "" {
		caps |= codec.CapPing
	}
	return caps
}
