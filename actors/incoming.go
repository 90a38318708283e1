package actors

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Handler answers a request that a host makes: with a value, which is encoded
// by the host's protocol (a [codec.Raw] goes as it is), or an error, of which a
// *[codec.Error] goes as it is and any other by its text. A value that is an
// iter.Seq2[any, error] is sent item by item, as fast as the host allows, if the host
// takes items, else as a list; an error ends it. Handlers run
// concurrently, at most 256 for one connection. ctx ends when the host takes the
// request back or its connection ends; a handler has to return then, and its
// answer is dropped. A panic is answered as an error and logged.
type Handler func(ctx context.Context, r *Incoming) (any, error)

// Incoming is a request that a host makes.
type Incoming struct {
	Host     string
	Life     uint64
	Method   string
	Params   codec.Raw
	Encoding codec.Encoding // of Params
	Trace    codec.Trace

	rest []func(uint64, *codec.Message) Verdict // who is behind the interceptor that answers
}

// Rest answers the request as the interceptors behind the one that has it do; ok is
// false if none of them does.
func (r *Incoming) Rest(ctx context.Context) (result any, ok bool, err error) {
	m := &codec.Message{Kind: codec.Request, Method: r.Method, Params: r.Params, Trace: r.Trace}
	for n, f := range r.rest {
		v := f(r.Life, m)
		switch {
		case v.Err != nil:
			return nil, true, v.Err
		case v.Reply != nil && v.Reply.Err != nil:
			return nil, true, v.Reply.Err
		case v.Reply != nil:
			return v.Reply.Result, true, nil
		case v.Handle != nil:
			in := *r
			in.Method, in.Params, in.rest = m.Method, m.Params, r.rest[n+1:]
			result, err = v.Handle(ctx, &in)
			return result, true, err
		}
		if v.Message != nil {
			m = v.Message
		}
	}
	return nil, false, nil
}

// Decode decodes the parameters into the pointer out.
func (r *Incoming) Decode(out any) error { return r.Encoding.Unmarshal(r.Params, out) }

// Names of errors that hosts get from the supervisor, besides those of package
// codec.
const (
	NameHostDown   = "HostDown"          // of a forward: its host crashed, is stopped or has failed
	NameTimeout    = "Timeout"           // of a forward: its host did not answer in time
	NameOverloaded = link.NameOverloaded // too many requests are open
	NameError      = "Error"             // anything else
)

// AnswerOf puts an error into the words of an answer to a host. It returns nil for nil.
func AnswerOf(err error) *codec.Error {
	if err == nil {
		return nil
	}
	var own *codec.Error
	if e, ok := err.(*codec.Error); ok { //nolint:errorlint // what wraps one says more
		return e
	}
	e := &codec.Error{Name: NameError, Message: err.Error()}
	switch {
	case errors.Is(err, ErrNoSuchMethod):
		e.Name = codec.NameMethodNotFound
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Name = NameTimeout
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled):
		e.Name = codec.NameCancelled
	case errors.Is(err, ErrOverloaded):
		e.Name = NameOverloaded
	case errors.Is(err, ErrCrashed), errors.Is(err, ErrUnresponsive), errors.Is(err, ErrStopped), errors.Is(err, ErrFailed):
		e.Name = NameHostDown
	case errors.As(err, &own):
		e.Name, e.Code = own.Name, own.Code
	}
	return e
}
