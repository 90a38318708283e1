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
func (c *conn) Asked(m *codec.Message) (reply *codec.Message, handler link.Handler) {
	c.ref.feed.publish(c.ref, c.life, m)
	if e := c.ref.warden.check(m, c.ref.spec.Protocol); e != nil {
		c.ref.world.Log.Named(c.ref.spec.Name).Warn("a request of the host is refused", "method", m.Method, "life", c.life, "reason", e.Error())
		return &codec.Message{Err: e}, nil
	}
	if h := c.ref.secretHandler(m.Method); h != nil { // nobody else is to answer these
		return nil, c.handler(h, m, nil)
	}
	return c.ask(c.ref.chain.Load().inbound, m)
}

// ask asks interceptors, then what answers without them.
func (c *conn) ask(list []func(uint64, *codec.Message) Verdict, m *codec.Message) (reply *codec.Message, handle link.Handler) {
	for n, f := range list {
		v := f(c.life, m)
		switch {
		case v.Err != nil:
			return &codec.Message{Err: answerOf(v.Err)}, nil
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
	rule, ok := c.rule(m.Method)
	switch {
	case !ok && m.Method == "$/ping":
		return &codec.Message{}, nil
	case !ok && secretMethod(m.Method) != 0:
		return errorReply(NameSecretDenied, fmt.Sprintf("host %q has no secrets of its own: its configuration names none", c.ref.spec.Name)), nil
	case !ok:
		return errorReply(codec.NameMethodNotFound, fmt.Sprintf("the supervisor has no method %q", m.Method)), nil
	case rule.reply != nil:
		out := *rule.reply
		return &out, nil
	}
	return nil, c.handler(rule.handler, m, nil)
}

// handler has a request of the host answered by h; rest are those who are behind it.
func (c *conn) handler(h Handler, m *codec.Message, rest []func(uint64, *codec.Message) Verdict) link.Handler {
	in := &Incoming{ref: c.ref, Host: c.ref.spec.Name, Life: c.life, Method: m.Method, Params: m.Params, Encoding: c.ref.spec.Protocol, Trace: m.Trace, rest: rest}
	return link.HandlerFunc(func(r *link.Incoming) (codec.Raw, *codec.Error) { return c.handle(r, h, in) })
}

func errorReply(name, message string) *codec.Message {
	return &codec.Message{Err: &codec.Error{Name: name, Message: message}}
}

// rule says what answers a request of the host that no interceptor answers.
func (c *conn) rule(method string) (answerer, bool) {
	if rule, ok := c.ref.answers.find(method); ok {
		return rule, true
	}
	if h := c.ref.keeper(method); h != nil {
		return answerer{handler: h}, true
	}
	if c.ref.can.Serve != nil {
		if serve := c.ref.can.Serve(method); serve != nil {
			return answerer{handler: func(ctx context.Context, in *Incoming) (any, error) { return serve(ctx, in.Host, in.Params) }}, true
		}
	}
	if c.ref.can.Answer != nil {
		if result, ok := c.ref.can.Answer(method); ok {
			return answerer{reply: &codec.Message{Kind: codec.Response, Result: result}}, true
		}
	}
	return answerer{}, false
}

// handle runs a handler.
func (c *conn) handle(r *link.Incoming, h Handler, in *Incoming) (result codec.Raw, failure *codec.Error) {
	err := link.Contain(func() error {
		v, err := h(r, in)
		if err != nil {
			return err
		}
		if items, ok := v.(iter.Seq2[any, error]); ok {
			result, err = sendItems(r, in.Encoding, items)
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
		return nil, answerOf(err)
	}
	return result, nil
}

// sendItems answers a request with a sequence: item by item if the host takes that, else
// with the list of all.
func sendItems(r *link.Incoming, e codec.Encoding, items iter.Seq2[any, error]) (codec.Raw, error) {
	if !r.Streams() {
		all := []any{}
		for v, err := range items {
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return e.Marshal(all)
	}
	var failed error
	send := func(v any, err error) error {
		var raw codec.Raw
		if err == nil {
			raw, err = e.Marshal(v)
		}
		if err != nil {
			return err
		}
		return r.Send(raw)
	}
	list := func(all []codec.Raw) (raw codec.Raw) {
		raw, failed = e.Marshal(all)
		return raw
	}
	result, _ := r.Items(list, func() *codec.Error {
		for v, err := range items {
			if failed = send(v, err); failed != nil {
				return new(codec.Error) // failed says it
			}
		}
		return nil
	})
	return result, failed
}
