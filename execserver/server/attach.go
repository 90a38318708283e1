package server

import (
	"crypto/subtle"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
)

// observer is a connection that observes a process, mostly of another session.
type observer struct {
	p      *process
	c      *conn
	name   string // the client's name for the process
	quoted []byte // the same as JSON

	// Under the lock of the process:
	cursor uint64
	lost   uint64 // bytes that were, when it was last told
	shown  bool
	queued bool
	gone   bool

	batch batch // of the connection's writer alone
}

// attachProcess makes the connection an observer.
func (c *conn) attachProcess(q *wire.ProcessAttachParams, r reply) {
	p := c.srv.byToken(q.Token)
	switch {
	case p == nil:
		r.fail(wire.NotFound("no process has this token"))
		return
	case c.watched[q.AttachID] != nil || c.session.process(q.AttachID) != nil:
		r.fail(wire.InvalidRequest("process %s already exists", q.AttachID))
		return
	}
	o := &observer{p: p, c: c, name: q.AttachID, quoted: wire.AppendString(nil, q.AttachID), cursor: 1}
	if q.AfterSeq != nil {
		o.cursor = *q.AfterSeq + 1
	}
	if c.watched == nil {
		c.watched = map[string]*observer{}
	}
	c.watched[q.AttachID] = o
	r.result(&wire.ProcessAttachResult{AttachID: q.AttachID, Process: p.info()})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = append(p.watch, o)
	o.shown = true
	o.lost = p.kept.lostBytes
	o.wake()
}

func (c *conn) detachProcess(q *wire.ProcessDetachParams, r reply) {
	if o := c.watched[q.AttachID]; o != nil {
		delete(c.watched, q.AttachID)
		o.end()
	}
	r.result(wire.Empty{})
}

// end removes the observer.
func (o *observer) end() {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.gone = true
	o.p.watch = slices.DeleteFunc(o.p.watch, func(w *observer) bool { return w == o })
}

// wake queues the observer if there is something to send. The caller must hold the process's lock.
func (o *observer) wake() {
	if o.shown && !o.queued && !o.gone && o.cursor < o.p.nextSeq {
		o.queued = true
		o.c.enqueue(o)
	}
}

// encode implements source. It encodes under the lock of the process, because no
// output is kept for an observer.
func (o *observer) encode(c *conn, b []byte, limit int) ([]byte, bool) {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	o.queued = false
	if o.gone || p.ended {
		return b, false
	}
	if p.kept.lostThrough >= o.cursor {
		was := o.cursor
		o.cursor = p.kept.lostThrough + 1
		if n, err := wire.AppendNotification(nil, wire.NotifyProcessOutLost, &wire.OutputLost{
			ProcessID: o.name, NextSeq: o.cursor, Bytes: p.kept.lostBytes - o.lost}); err == nil {
			b = c.framed(b, n)
		}
		o.lost = p.kept.lostBytes
		if p.exited && p.exitSeq >= was && p.exitSeq < o.cursor {
			b = c.framed(b, wire.AppendExited(nil, o.quoted, p.exitSeq, p.code, p.denied))
		}
	}
	p.fill(&o.batch, o.cursor, limit)
	b = o.batch.encode(c, b, o.quoted)
	o.cursor = o.batch.next
	o.queued = o.cursor < p.nextSeq
	return b, o.queued
}

// byToken returns the process with an attach token, or nil.
func (s *Server) byToken(token string) *process {
	if token == "" {
		return nil
	}
	for _, se := range s.all() {
		for _, p := range se.processes() {
			if subtle.ConstantTimeCompare([]byte(p.token), []byte(token)) == 1 {
				return p
			}
		}
	}
	return nil
}
