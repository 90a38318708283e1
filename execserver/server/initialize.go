package server

import (
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
)

// initialize gives the connection a session.
func (c *conn) initialize(raw []byte, r reply) {
	var p wire.InitializeParams
	if err := wire.DecodeParams(raw, &p, false); err != nil {
		r.fail(err)
		return
	}
	if c.session != nil {
		r.fail(wire.InvalidRequest("initialize may only be sent once per connection"))
		return
	}
	var s *session
	if p.ResumeSessionID == nil {
		var err error
		if s, err = c.srv.newSession(p.ClientName); err != nil {
			r.fail(wire.Internal("%s", err))
			return
		}
	} else if s = c.srv.session(*p.ResumeSessionID); s == nil {
		r.fail(wire.InvalidRequest("unknown session id %s", *p.ResumeSessionID))
		return
	}
	// The answer is queued before anything of the session can be.
	answer := func() {
		c.ext = wanted(p.Extensions)
		res := wire.InitializeResult{SessionID: s.id, EnvironmentInfo: c.srv.info}
		if c.ext {
			res.Extensions = wire.Extensions()
		}
		r.result(&res)
	}
	if err := s.attach(c, answer); err != nil {
		r.fail(err)
		return
	}
	c.session = s
}

// wanted reports whether a client knows of extensions: with one of them it has
// them all.
func wanted(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == wire.ExtAll || slices.Contains(wire.Extensions(), name)
	})
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
