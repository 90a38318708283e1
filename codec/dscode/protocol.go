package dscode

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// Bounds of the protocol and of this side of it.
const (
	MaxFrame  = 50 << 20 // bytes of one frame's body; a lower [codec.Limits.Frame] holds instead
	MaxMethod = 1024     // bytes of the longest type, as it is written
	MaxID     = 1024     // bytes of the longest id that a host may choose, as it is written
	MaxOpen   = 4096     // requests of the host that may be unanswered at once
)

// NameConnectionLost is the name of the error that a request is answered with
// when the connection it was written to has ended without an answer, while the
// host lives and was reached again. Nobody knows whether the host did what it
// was asked.
const NameConnectionLost = "ConnectionLost"

// Language is a [codec.Protocol] but for Features, to be embedded in one that knows
// how its hosts are met.
type Language struct{ jsonrpc.Encoding }

// Name returns "dscode".
func (Language) Name() string { return "dscode" }

// Defaults say that hosts are not killed which do not answer.
func (Language) Defaults() codec.Defaults { return codec.Defaults{NeverKill: true} }

// Open makes a session whose frames are no longer than the protocol allows.
func (Language) Open(lim codec.Limits) codec.Session {
	lim = lim.WithDefaults()
	lim.Frame = min(lim.Frame, MaxFrame)
	lim.String = min(lim.String, lim.Frame)
	return &session{
		lim:   lim,
		open:  make(map[uint32]request),
		conns: make(map[uint32]map[uint32]struct{}),
	}
}
