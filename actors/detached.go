package actors

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Detached returns the handle of a host that has no actor: Connect gives it lives, and
// nothing restarts it. It is for tests of interceptors.
func Detached(w *World, spec HostSpec) *Ref {
	r := newRef(w, spec.Name, spec.WithDefaults())
	r.inbox.ended = true
	return r
}

// Connect begins a life of a detached host over a wire. end ends it, and answers what
// it has not answered with err.
func (r *Ref) Connect(life uint64, session codec.Session, w link.Wire, hs codec.Handshake) (line *Line, end func(err error)) {
	h := &Host{ref: r, conn: newConn(r, life, session, w)}
	h.conn.Open(hs)
	h.letIn(func() { r.conn.Store(h.conn) })
	return &h.conn.line, func(err error) {
		r.conn.CompareAndSwap(h.conn, nil)
		for _, p := range h.conn.CloseRequests(err) {
			p.Settle(nil, err)
		}
		h.letOut()
		for _, i := range r.chain.Load().list {
			if i.Ended != nil {
				i.Ended(LifeEnd{Life: life})
			}
		}
		h.conn.Close()
	}
}

// Receive takes in a message as if the host had sent it.
func (l *Line) Receive(m *codec.Message) error { return l.c.Receive(m) }
