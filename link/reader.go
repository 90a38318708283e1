package link

import (
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link/pending"
)

// Open shakes hands with the peer and begins to read and to write. The owner hears
// what comes of it. It must be called once.
func (c *Conn) Open(hs codec.Handshake) {
	if w, ok := c.wire.(*fileWire); ok && w.watched {
		w.watch = sys.OnReaderGone(w.w, c.out.lost)
	}
	c.loops.Add(2)
	c.env.Go(func() {
		defer c.loops.Done()
		c.out.loop()
	})
	out, done := hs.Start()
	for i := range out {
		c.Post(&out[i])
	}
	if done {
		c.opened(hs)
	}
	c.env.Go(func() {
		defer c.loops.Done()
		err := Contain(func() error { return c.read(hs, done) })
		c.EndTurn() // what the loop has made so far is still owed
		c.owner.Ended(err)
	})
}

func (c *Conn) opened(hs codec.Handshake) {
	peer := hs.Peer()
	c.agree(peer.Caps)
	c.owner.Opened(peer)
}

// read is the read loop. It returns why the stream ended; io.EOF is a clean end.
func (c *Conn) read(hs codec.Handshake, open bool) error {
	var m codec.Message
	if c.can.OnNoise != nil {
		c.can.OnNoise(c.owner.Noise)
	}
	in := &input{c: c}
	r := c.session.NewReader(in)
	for {
		if err := r.Next(&m); err != nil {
			return err
		}
		in.partial = 0
		if !open {
			out, done, err := c.handshake(hs, &m)
			for i := range out {
				c.post(&out[i], held)
			}
			if err != nil {
				return err
			}
			if done {
				open = true
				c.opened(hs)
			}
			continue
		}
		if err := c.receive(&m); err != nil {
			return err
		}
		if isSign(&m) && c.hung.Load() && !r.Buffered() {
			c.owner.Sign()
		}
	}
}

// handshake takes in one message before both sides have shaken hands.
func (c *Conn) handshake(hs codec.Handshake, m *codec.Message) (out []codec.Message, done bool, err error) {
	if out, done, err = hs.Handle(m); errors.Is(err, codec.ErrUnrelated) {
		return out, done, c.receive(m)
	}
	c.mu.Lock()
	c.received.add(c.out.now(), m)
	if m.Kind == codec.Request {
		c.incoming.Seen(m.ID)
	}
	c.mu.Unlock()
	return out, done, err
}

// Receive takes in one message of the peer, as a turn of its own, for who has no stream
// to read from. An error ends the connection.
func (c *Conn) Receive(m *codec.Message) error {
	err := c.receive(m)
	c.EndTurn()
	return err
}

// receive takes in one message of the peer. An error ends the connection.
func (c *Conn) receive(m *codec.Message) error {
	var now int64
	if isSign(m) {
		now = c.env.Now()
		c.sign.Store(now)
	} else {
		now = c.out.now()
	}
	var twice bool
	var out pending.Effects
	c.mu.Lock()
	c.received.add(now, m)
	switch m.Kind {
	case codec.Response:
		out = c.stepLocked(pending.Event{Op: pending.Answer, ID: m.ID}, now)
	case codec.Ack:
		out = c.stepLocked(pending.Event{Op: pending.Ack, ID: m.ID}, now)
	case codec.Item:
		out = c.stepLocked(pending.Event{Op: pending.Item, ID: m.ID, N: m.Seq}, now)
	case codec.Notification:
		if m.ID != 0 {
			out = c.stepLocked(pending.Event{Op: pending.Progress, ID: m.ID}, now)
		}
	case codec.Request:
		twice = c.incoming.Seen(m.ID)
	}
	c.mu.Unlock()
	var p *Pending
	if out.Entry != nil {
		p = promise(out.Entry)
	}
	switch m.Kind {
	case codec.Response:
		c.owner.Answered(m.ID, p, out.Since, now)
		if p != nil {
			c.settle(p, m)
		}
		return c.faulty(out, "response to", m)
	case codec.Ack:
		return c.faulty(out, "ack of", m)
	case codec.Item:
		if p != nil && p.IsSettled() {
			return nil
		}
		if out.Do.Has(pending.Deliver) {
			p.stream.push(m.Result)
		}
		return c.faulty(out, "item of", m)
	case codec.Notification:
		if p != nil { // which puts off its deadline
			p.progressed.Store(now)
		}
		c.owner.Notified(m)
	case codec.Request:
		if twice {
			return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("request %d of the peer, which is open already", m.ID)}
		}
		return c.serve(m)
	case codec.Cancel:
		return c.withdrawn(m)
	case codec.Credit:
		return c.allowed(m)
	default:
		return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: m.Kind.String()}
	}
	return nil
}

func (c *Conn) faulty(out pending.Effects, what string, m *codec.Message) error {
	if out.Fault == pending.NoFault {
		return nil
	}
	return fault(out, what, m)
}

// settle gives a request the outcome that the peer has answered.
func (c *Conn) settle(p *Pending, m *codec.Message) {
	if m.Err == nil {
		p.Settle(m.Result, nil)
	} else {
		p.Settle(nil, p.reason(m.Err))
	}
	if p.Internal {
		c.owner.Replied(p)
	}
}

// isSign says whether a message is a sign of life: it is about a request of this
// side. What a peer says by itself may come from a thread that goes on while the
// loop that does the work hangs.
func isSign(m *codec.Message) bool {
	switch m.Kind {
	case codec.Response, codec.Ack, codec.Item:
		return true
	case codec.Notification:
		return m.ID != 0 // the progress of a request
	}
	return false
}

// longMessage is from how many bytes on a message that is still being read is a
// sign of life: it may be an answer that takes a while to write.
const longMessage = 64 << 10

// input reads from a connection's wire. By the time that it is called, everything
// that was read before is worked on.
type input struct {
	c       *Conn
	partial int // bytes read since the last whole message
}

func (i *input) Read(p []byte) (int, error) {
	i.c.EndTurn()
	i.c.owner.Pace(i.c.ctx)
	n, err := i.c.wire.Read(p)
	if n > 0 && i.partial >= longMessage {
		i.c.sign.Store(i.c.env.Now())
	}
	i.partial += n
	return n, err
}
