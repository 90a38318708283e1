package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// Bounds of what a host asks for. What is over them is answered with an error of
// name [NameOverloaded].
const (
	// maxServing is how many requests of a host's own may be open at once: those
	// that are worked on, and those whose answers wait for the host to read.
	maxServing = 256
	// maxServingBytes is how many bytes the parameters of those that are worked on
	// may take, together with the answers that wait. One alone may have more.
	maxServingBytes = 256 << 20
)

// serve answers a request that the host makes. Called by the read loop, which
// it does not hold up: handlers run on goroutines of their own, which end with
// the request, the connection at the latest.
func (c *conn) serve(m *codec.Message) error {
	inTurn := c.turns.enter(c.session, m)
	later, err := c.begin(m, inTurn)
	if inTurn && !later {
		c.passOnBeside(m.ID)
	}
	return err
}

// begin answers a request, or has a handler do that later.
func (c *conn) begin(m *codec.Message, inTurn bool) (later bool, err error) {
	if e := c.ref.warden.check(m, c.ref.spec.Protocol); e != nil {
		c.ref.world.Log.Named(c.ref.spec.Name).Warn("a request of the host is refused", "method", m.Method, "life", c.life, "reason", e.Error())
		c.reply(&codec.Message{Kind: codec.Response, ID: m.ID, Err: e})
		return false, nil
	}
	if clerk, ok := c.ref.with().(Clerk); ok && clerk.Noted(c.life, m.Method, m.Params) {
		c.reply(&codec.Message{Kind: codec.Response, ID: m.ID})
		return false, nil
	}
	rule, ok := c.rule(m.Method)
	switch {
	case !ok && m.Method == "$/ping":
		c.reply(&codec.Message{Kind: codec.Response, ID: m.ID})
		return false, nil
	case !ok && secretMethod(m.Method) != 0:
		c.refuse(held, m.ID, NameSecretDenied, fmt.Sprintf("host %q has no secrets of its own: its configuration names none", c.ref.spec.Name))
		return false, nil
	case !ok:
		c.refuse(held, m.ID, codec.NameMethodNotFound, fmt.Sprintf("the supervisor has no method %q", m.Method))
		return false, nil
	case rule.reply != nil:
		out := *rule.reply
		out.ID = m.ID
		c.reply(&out)
		return false, nil
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	_, twice := c.serving[m.ID]
	full := ""
	switch open, bytes := len(c.serving)+c.unread, c.servingBytes; {
	case open >= maxServing:
		full = fmt.Sprintf("%d requests of the host are open", open)
	case bytes > 0 && bytes+len(m.Params) > maxServingBytes:
		full = fmt.Sprintf("the open requests of the host have %d bytes of parameters, and this one %d, limit %d together", bytes, len(m.Params), maxServingBytes)
	}
	if !twice && full == "" && !c.table.IsClosed() {
		if c.serving == nil {
			c.serving = make(map[uint32]context.CancelCauseFunc)
		}
		c.serving[m.ID] = cancel
		c.servingBytes += len(m.Params)
		c.ref.world.serving.Add(1)
	}
	closed := c.table.IsClosed()
	c.mu.Unlock()
	switch {
	case twice:
		cancel(nil)
		return false, &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("request %d of the host, which is open already", m.ID)}
	case full != "":
		cancel(nil)
		c.refuse(held, m.ID, NameOverloaded, full)
		return false, nil
	case closed:
		cancel(nil)
		return false, nil
	}
	in := &Incoming{ref: c.ref, Host: c.ref.spec.Name, Life: c.life, Method: m.Method, Params: m.Params, Encoding: c.ref.spec.Protocol, Trace: m.Trace}
	id, size := m.ID, len(m.Params)
	go func() {
		defer c.ref.world.serving.Done()
		out := c.handle(ctx, rule.handler, in)
		out.ID = id
		if inTurn {
			defer c.passOn(id)
			c.turns.await(ctx, id)
		}
		c.mu.Lock()
		delete(c.serving, id)
		c.servingBytes -= size
		c.mu.Unlock()
		c.respond(ctx, out)
		cancel(nil)
	}()
	return true, nil
}

// rule says what answers a request of the host: the store of its secrets, its
// companion, or the rules.
func (c *conn) rule(method string) (answerer, bool) {
	if h := c.ref.secretHandler(method); h != nil { // nobody else is to answer these
		return answerer{handler: h}, true
	}
	if with := c.ref.with(); with != nil {
		if h := with.Asked(method); h != nil {
			return answerer{handler: h}, true
		}
	}
	if rule, ok := c.ref.answers.find(method); ok {
		return rule, true
	}
	if h := c.ref.keeper(method); h != nil {
		return answerer{handler: h}, true
	}
	if p, ok := c.ref.spec.Protocol.(codec.Serving); ok {
		if serve := p.Serve(method); serve != nil {
			return answerer{handler: func(ctx context.Context, in *Incoming) (any, error) { return serve(ctx, in.Host, in.Params) }}, true
		}
	}
	if p, ok := c.ref.spec.Protocol.(codec.Answerer); ok {
		if result, ok := p.Answer(method); ok {
			return answerer{reply: &codec.Message{Kind: codec.Response, Result: result}}, true
		}
	}
	return answerer{}, false
}

// refuse answers a request of the host with an error.
func (c *conn) refuse(w when, id uint32, name, message string) {
	c.pass(&codec.Message{Kind: codec.Response, ID: id, Err: &codec.Error{Name: name, Message: message}}, w)
}

// handle runs a handler.
func (c *conn) handle(ctx context.Context, h Handler, in *Incoming) *codec.Message {
	out := &codec.Message{Kind: codec.Response}
	err := contained(func() error {
		v, err := h(ctx, in)
		if err == nil {
			out.Result, err = in.Encoding.Marshal(v) // of a type of the handler's
		}
		return err
	})
	var d *defect
	switch {
	case errors.As(err, &d):
		c.ref.world.Log.Named(in.Host).Error("a handler panicked", "method", in.Method, "panic", d.what, "stack", string(d.stack))
		out.Err = &codec.Error{Name: codec.NamePanic, Message: fmt.Sprintf("the handler of %q failed", in.Method)}
	case err != nil:
		out.Err = answerOf(err)
	}
	return out
}

// respond sends an answer, waiting for a host that does not read. One that the
// wire cannot carry becomes an error.
func (c *conn) respond(ctx context.Context, out *codec.Message) {
	for {
		if context.Cause(ctx) == errTakenBack && c.out.forget(c.session, out.ID) { //nolint:errorlint // it is never wrapped
			return
		}
		space, err := c.out.add(c.session, out, byLoop, outboxLimit)
		switch {
		case err == nil:
			return
		case errors.Is(err, errFull):
			size := len(out.Result)
			if !c.hold(size) {
				c.refuse(byLoop, out.ID, NameOverloaded, fmt.Sprintf("an answer of %d bytes does not fit to those that the host has not read, limit %d together", size, maxServingBytes))
				return
			}
			select {
			case <-space:
				c.unhold(size) // before the host can have read of it
			case <-ctx.Done():
				c.unhold(size)
				if !c.out.forget(c.session, out.ID) {
					c.refuse(byLoop, out.ID, codec.NameCancelled, "the host took the request back")
				}
				return // else the host is no more
			}
		case errors.Is(err, codec.ErrTooLarge), errors.Is(err, codec.ErrShape):
			c.refuse(byLoop, out.ID, NameError, fmt.Sprintf("the answer cannot be sent: %v", err))
			return
		default:
			return // the stream is broken, of which the read loop tells
		}
	}
}

// hold counts an answer that waits for the host to read; false: it must not wait.
func (c *conn) hold(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servingBytes > 0 && c.servingBytes+size > maxServingBytes {
		return false
	}
	c.unread++
	c.servingBytes += size
	return true
}

func (c *conn) unhold(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread--
	c.servingBytes -= size
}

// errTakenBack is the cause of a handler's end when the host no longer wants
// the answer.
var errTakenBack = errors.New("the host took the request back")

// unserve ends a request that the host takes back. It is still answered, unless
// the protocol has it otherwise.
func (c *conn) unserve(id uint32) {
	c.mu.Lock()
	cancel := c.serving[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errTakenBack)
	}
}
