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

// handshake opens the connection. It runs on the receive loop, before
// anything else is taken.
func (c *conn) handshake() error {
	self := native.Self{Name: c.srv.info.Name, Version: c.srv.info.Version, Caps: c.opt.caps, Extensions: c.srv.announced()}
	if len(self.Extensions) > 0 {
		self.Caps |= codec.CapExtensions
	}
	acceptor := c.sess.Accept(self)
	var m codec.Message
	for answered := false; ; answered = true {
		if err := c.rd.Next(&m); err != nil {
			return err
		}
		c.maxID = max(c.maxID, m.ID)
		out, done, err := acceptor.Handle(&m)
		if err == nil && !answered {
			if err = c.opening(acceptor.Opening(), self.Caps); err != nil {
				out = []codec.Message{{Kind: codec.Response, ID: m.ID, Err: answerOf(err)}}
				err = fmt.Errorf("initialize: %w", err)
			}
		}
		for i := range out {
			if err := c.answer(out[i].ID, out[i].Result, out[i].Err); err != nil {
				return err
			}
		}
		lost := c.w.flush()
		switch {
		case err != nil:
			return err
		case lost != nil:
			return lost
		case done:
			c.caps = c.sess.Caps()
			c.srv.conn = c
			close(c.srv.ready)
			if len(self.Extensions) > 0 && !c.caps.Has(codec.CapExtensions) {
				c.helpers.Go(c.startup)
			}
			return nil
		}
	}
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
