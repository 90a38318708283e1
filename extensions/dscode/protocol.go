package dscode

import (
	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/dscode"
)

// Environment variables with the URLs of the two sockets, of the form ipc:///path.
const (
	EnvURL      = "DSCODE_IPC_URL"          // the host listens there for requests of hostsup
	EnvIncoming = "DSCODE_INCOMING_IPC_URL" // hostsup listens there for requests of the host
)

// MaxConnections bounds the concurrent connections of a host; further ones are closed at
// once.
const MaxConnections = 64

// Properties of the wire; see package codec/dscode.
const (
	MaxFrame           = wire.MaxFrame
	NameConnectionLost = wire.NameConnectionLost
)

// New returns the protocol of DSCode's extension hosts, over two unix sockets.
func New() codec.Protocol { return protocol{} }

type protocol struct{ wire.Language }

func (protocol) Features() codec.Features {
	return codec.Features{Rendezvous: func(folder func() (string, error)) (codec.Rendezvous, error) {
		dir, err := folder()
		if err != nil {
			return nil, err
		}
		return newRendezvous(dir)
	}}
}
