package vscode

import (
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
)

// session is the state of one life's conversation.
type session struct {
	lim     codec.Limits
	opening Opening

	running    atomic.Bool // the handshake is done
	configured codec.Raw   // what the host was told in it
}

// Open makes the session of one life.
func Open(lim codec.Limits, o Opening) codec.Session {
	return &session{lim: lim.WithDefaults(), opening: o}
}

// ping is what hosts are asked for life with: it returns what it is given, on
// the thread that everything else runs on.
const ping = "ExtHostExtensionService.$test_latency"

// Ping returns a method that does nothing. Its ack is what proves life.
func (s *session) Ping() string { return ping }

// Goodbye asks the host to terminate: it deactivates its extensions, for which
// it takes five seconds at most, and exits. There is no answer but that.
func (s *session) Goodbye() (ask *codec.Message, last []codec.Message) {
	return &codec.Message{Kind: codec.Request, Method: methodTerminate}, nil
}

// Opened is that of [codec.SessionFeatures]: it is the host's configuration that can be told
// again, with what has changed of it; see [MethodReconfigured].
func (s *session) Opened() (request, result codec.Raw) { return s.configured, nil }

func (s *session) Features() codec.SessionFeatures { return codec.SessionFeatures{Opened: s.Opened} }

func (s *session) Handshake(h codec.Hello) codec.Handshake { return &handshake{s: s, hello: h} }
