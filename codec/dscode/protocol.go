package dscode

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// Environment variables by which a host finds its two sockets: URLs of the
// form ipc:///path.
const (
	EnvURL      = "DSCODE_IPC_URL"          // the host listens here for our requests
	EnvIncoming = "DSCODE_INCOMING_IPC_URL" // we listen here for the host's requests
)

// Bounds of the protocol and of this side of it.
const (
	MaxFrame       = 50 << 20 // bytes of one frame's body; a lower [codec.Limits.Frame] holds instead
	MaxMethod      = 1024     // bytes of the longest type, as it is written
	MaxID          = 1024     // bytes of the longest id that a host may choose, as it is written
	MaxOpen        = 4096     // requests of the host that may be unanswered at once
	MaxConnections = 64       // connections that a host may have to our socket; one more is closed at once
)

// NameConnectionLost is the name of the error that a request is answered with
// when the connection it was written to has ended without an answer, while the
// host lives and was reached again. Nobody knows whether the host did what it
// was asked.
const NameConnectionLost = "ConnectionLost"

// New returns the protocol. Its hosts are met by two unix sockets.
func New() codec.Protocol { return protocol{} }

type protocol struct{ jsonrpc.Encoding }

func (protocol) Name() string { return "dscode" }

func (protocol) Defaults() codec.Defaults { return codec.Defaults{NeverKill: true} }

// Open makes a session whose frames are no longer than the protocol allows.
func (protocol) Open(lim codec.Limits) codec.Session {
	lim = lim.WithDefaults()
	lim.Frame = min(lim.Frame, MaxFrame)
	lim.String = min(lim.String, lim.Frame)
	return &session{
		lim:   lim,
		open:  make(map[uint32]request),
		conns: make(map[uint32]map[uint32]struct{}),
	}
}

func (protocol) Features() codec.Features {
	return codec.Features{Meet: func(dir string) (codec.Meeting, error) { return meet(dir) }}
}
