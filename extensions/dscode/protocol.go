package dscode

import (
	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/dscode"
)

// Environment variables by which a host finds its two sockets: URLs of the
// form ipc:///path.
const (
	EnvURL      = "DSCODE_IPC_URL"          // the host listens here for our requests
	EnvIncoming = "DSCODE_INCOMING_IPC_URL" // we listen here for the host's requests
)

// MaxConnections is how many connections a host may have to our socket; one more is
// closed at once.
const MaxConnections = 64

// What the wire has; see package codec/dscode.
const (
	MaxFrame           = wire.MaxFrame
	NameConnectionLost = wire.NameConnectionLost
)

// New returns the protocol of DSCode's extension hosts, which are met by two unix
// sockets.
func New() codec.Protocol { return protocol{} }

type protocol struct{ wire.Language }

func (protocol) Features() codec.Features {
	return codec.Features{Meet: func(dir string) (codec.Meeting, error) { return meet(dir) }}
}
