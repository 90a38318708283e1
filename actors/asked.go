package actors

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Asked implements [link.Owner]: it says what answers a request that the host makes.
func (c *conn) Asked(m *codec.Message) (reply *codec.Message, handle link.Handler) {
	list := c.ref.chain.Load().inbound
	for n, f := range list {
		v := f(c.life, m)
		switch {
		case v.Err != nil:
			return &codec.Message{Err: AnswerOf(v.Err)}, nil
		case v.Reply != nil:
			out := *v.Reply
			return &out, nil
		case v.Handle != nil:
			return nil, c.handler(v.Handle, m, list[n+1:])
		}
		if v.Message != nil {
			m = v.Message
		}
	}
	can := &c.ref.spec().can
	if can.Serve != nil {
		if serve := can.Serve(m.Method); serve != nil {
			return nil, c.handler(func(ctx context.Context, in *Incoming) (any, error) { return serve(ctx, in.Host, in.Params) }, m, nil)
		}
	}
	if can.Answer != nil {
		if a := can.Answer(m.Method); a != nil {
			out := *a
			return &out, nil
		}
	}
	if m.Method == "$/ping" {
		return &codec.Message{}, nil
	}
	return &codec.Message{Err: &codec.Error{Name: codec.NameMethodNotFound, Message: fmt.Sprintf("the supervisor has no method %q", m.Method)}}, nil
}

// handler has a request of the host answered by h; rest are those who are behind it.
func (c *conn) handler(h Handler, m *codec.Message, rest []func(uint64, *codec.Message) Verdict) link.Handler {
	in := &Incoming{Host: c.ref.spec().Name, Life: c.life, Method: m.Method, Params: m.Params, Encoding: c.ref.spec().Protocol, Trace: m.Trace, rest: rest}
	return link.HandlerFunc(func(r *link.Incoming) (codec.Raw, *codec.Error) { return c.handle(r, h, in) })
}

// handle runs a handler.
func (c *conn) handle(r *link.Incoming, h Handler, in *Incoming) (result codec.Raw, failure *codec.Error) {
	err := link.Contain(func() error {
		v, err := h(r, in)
		if err != nil {
			return err
		}
		if items, ok := v.(iter.Seq2[any, error]); ok {
			result, err = r.Sequence(in.Encoding, items)
		} else {
			result, err = in.Encoding.Marshal(v) // of a type of the handler's
		}
		return err
	})
	var p *link.PanicError
	switch {
	case errors.As(err, &p):
		c.ref.world.Log.Named(in.Host).Error("a handler panicked", "method", in.Method, "panic", p.Value, "stack", string(p.Stack))
		return nil, &codec.Error{Name: codec.NamePanic, Message: fmt.Sprintf("the handler of %q failed", in.Method)}
	case err != nil:
		return nil, AnswerOf(err)
	}
	return result, nil
}
