package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// ErrMissing says that a peer can't be had on this machine.
var ErrMissing = errors.New("not on this machine")

// Conn echoes through one server.
type Conn interface {
	// Echo returns what the server answered to payload. It is safe for
	// concurrent use unless the peer is Sequential.
	Echo(ctx context.Context, payload []byte) ([]byte, error)
	// Close ends the connection and the server, and waits for it.
	Close() error
}

// Parker is a Conn that can keep requests pending.
type Parker interface {
	Conn
	// Park makes a request that is not answered before ctx ends, and returns
	// then.
	Park(ctx context.Context) error
}

// Peer is one way to reach another process.
type Peer struct {
	Name       string
	Sequential bool // one request at a time: it has no figure for many in flight
	Dial       func() (Conn, error)
	// Serve answers on l until stop is closed. Nil where the peer brings its
	// own server.
	Serve func(l net.Listener, stop <-chan struct{}) error
}

// All returns every peer, hostsup first, then in the order of the table.
func All() []Peer {
	return []Peer{
		hostsupPeer(), evidencePeer(),
		framed("framed-table", newTable),
		framed("framed-process", newProcesses),
		framed("framed-actor", newChildren),
		ttrpcPeer(), grpcPeer(), grpcStreamPeer(), pluginPeer(), neovimPeer(), barePeer(),
	}
}

// Named returns the peer of that name.
func Named(name string) (Peer, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Peer{}, fmt.Errorf("no peer is named %q", name)
}

// DialParker dials the peer of that name with room for that many requests at
// once.
func DialParker(name string, room int) (Parker, error) {
	p, err := Named(name)
	if err != nil {
		return nil, err
	}
	if p.Name == "hostsup" {
		p.Dial = func() (Conn, error) { return dialHostsup(room) }
	}
	c, err := p.Dial()
	if err != nil {
		return nil, err
	}
	k, ok := c.(Parker)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s keeps no request pending", name), c.Close())
	}
	return k, nil
}
