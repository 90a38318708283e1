package msgpackrpc

import (
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// MaxMethod is the length of the longest method name, in bytes. The methods of
// plugins have the path of a file in them.
const MaxMethod = 8 << 10

// DefaultPing is the method of the liveness question where none was named.
const DefaultPing = "poll"

// Options of the protocol.
type Options struct {
	// Ping is the method of the liveness question, asked without params. Any
	// answer is a sign of life, an error too. "" is [DefaultPing].
	Ping string
}

// New returns the protocol. What it returns for the same options is equal.
func New(opt Options) codec.Protocol {
	if opt.Ping == "" {
		opt.Ping = DefaultPing
	}
	return protocol{opt: opt}
}

type protocol struct {
	mpack.Encoding
	opt Options
}

func (protocol) Name() string { return "msgpack-rpc" }

func (protocol) Defaults() codec.Defaults {
	return codec.Defaults{Transport: "stdio", NeverKill: true}
}

func (protocol) Features() codec.Features { return codec.Features{} }

func (p protocol) Open(lim codec.Limits) codec.Session {
	return &Session{lim: lim.WithDefaults(), ping: p.opt.Ping}
}

// Session is the state of one connection. Append and the Reader may be used by
// one goroutine each.
type Session struct {
	lim  codec.Limits
	ping string
	asks asks
	peer peer
}

// Features returns that a Neovim takes answers as a stack does.
func (s *Session) Features() codec.SessionFeatures { return codec.SessionFeatures{Stacks: s.Stacks} }

// NewReader reads messages from r.
func (s *Session) NewReader(r io.Reader) codec.Reader { return newReader(s, r) }

// Handshake is done at once: the protocol has none.
func (s *Session) Handshake(codec.Hello) codec.Handshake { return handshake{} }

// Ping returns the method of the liveness question.
func (s *Session) Ping() string { return s.ping }

// Goodbye returns nothing: the end of the stream is the protocol's farewell.
func (s *Session) Goodbye() (ask *codec.Message, last []codec.Message) { return nil, nil }

type handshake struct{}

func (handshake) Start() ([]codec.Message, bool) { return nil, true }

func (handshake) Handle(*codec.Message) ([]codec.Message, bool, error) {
	return nil, true, codec.ErrUnrelated
}

func (handshake) Peer() codec.Peer { return codec.Peer{Caps: codec.CapPing | codec.CapAbandon} }
