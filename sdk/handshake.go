package sdk

import (
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// Hello is what the supervisor says of itself and of this life of the host.
type Hello struct {
	Supervisor string     // name of the supervising program
	Version    string     // its version
	Host       string     // the name this host is supervised under
	Life       uint64     // number of this life, from 1
	Init       codec.Raw  // what the configuration hands to the host; may be nil
	Caps       codec.Caps // the capabilities in force

	// Extensions are the ids of those that live in this process, when the
	// supervisor speaks of them (Caps has CapExtensions); nil: it knows of none yet.
	Extensions []string
}

// Decode decodes Init into out, a pointer, which stays as it is when there is
// no Init.
func (h Hello) Decode(out any) error {
	if len(h.Init) == 0 {
		return nil
	}
	return mpack.Encoding{}.Unmarshal(h.Init, out)
}

// handshake opens the connection, and tells the functions of OnInitialize meanwhile.
type handshake struct {
	*native.Acceptor
	c    *conn
	able codec.Caps
	told bool
}

func (c *conn) handshake(sess *native.Session) *handshake {
	self := native.Self{Name: c.srv.info.Name, Version: c.srv.info.Version, Caps: c.opt.caps, Extensions: c.srv.announced()}
	if len(self.Extensions) > 0 {
		self.Caps |= codec.CapExtensions
	}
	return &handshake{Acceptor: sess.Accept(self), c: c, able: self.Caps}
}

// Handle implements [codec.Handshake].
func (h *handshake) Handle(m *codec.Message) (out []codec.Message, done bool, err error) {
	out, done, err = h.Acceptor.Handle(m)
	if err != nil || h.told {
		return out, done, err
	}
	h.told = true
	if err = h.c.opening(h.Opening(), h.able); err != nil {
		return []codec.Message{{Kind: codec.Response, ID: m.ID, Err: answerOf(err)}}, false, fmt.Errorf("initialize: %w", err)
	}
	return out, done, nil
}

// opening tells the functions of OnInitialize.
func (c *conn) opening(o native.Opening, able codec.Caps) (err error) {
	c.srv.mu.Lock()
	openers := slices.Clone(c.srv.openers)
	c.srv.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	h := Hello{
		Supervisor: o.Supervisor, Version: o.Version, Host: o.Host, Life: o.Life,
		Init: o.Init, Caps: o.Caps & able,
	}
	if h.Caps.Has(codec.CapExtensions) {
		h.Extensions = o.Extensions
	}
	c.srv.hello = h
	for _, fn := range openers {
		if err := fn(&handling{Context: c.ctx, inline: true}, h); err != nil {
			return err
		}
	}
	return nil
}
