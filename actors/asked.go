package actors

import (
	"context"
	"errors"
	"fmt"

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
	if clerk, ok := c.ref.with().(Clerk); ok && clerk.Noted(c.life, m.Method, m.Params) {
		return &codec.Message{}, nil
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
	in := &Incoming{ref: c.ref, Host: c.ref.spec.Name, Life: c.life, Method: m.Method, Params: m.Params, Encoding: c.ref.spec.Protocol, Trace: m.Trace}
	return nil, link.HandlerFunc(func(r *link.Incoming) (codec.Raw, *codec.Error) { return c.handle(r, rule.handler, in) })
}

func errorReply(name, message string) *codec.Message {
	return &codec.Message{Err: &codec.Error{Name: name, Message: message}}
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

// handle runs a handler.
func (c *conn) handle(ctx context.Context, h Handler, in *Incoming) (result codec.Raw, failure *codec.Error) {
	err := link.Contain(func() error {
		v, err := h(ctx, in)
		if err == nil {
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
