package control

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// verb returns an endpoint that runs do, and answers with the state of the host
// afterwards.
func verb(do func(Host, context.Context) error) endpoint {
	return reply(func(_ *Server, ctx context.Context, in hostInput) (out record.HostStatus, err error) {
		if err := do(in.Host, ctx); err != nil {
			return out, hostFail(in.Host, err)
		}
		return tidyHost(in.Host.Status()), nil
	})
}

func (s *Server) wait(ctx context.Context, in waitInput) (out record.HostStatus, err error) {
	h, q := in.Host, in.Body
	timeout, err := seconds(q.Timeout)
	if err != nil {
		return out, err
	}
	if len(q.States) == 0 {
		return out, invalid("no state to wait for")
	}
	for _, st := range q.States {
		if !st.Valid() {
			return out, invalid(fmt.Sprintf("%q is not a state", st))
		}
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if err := h.Wait(ctx, q.States...); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return out, waitedTooLong(h, timeout)
		}
		return out, hostFail(h, err)
	}
	return tidyHost(h.Status()), nil
}

// waitedTooLong returns an error with the present state of the host.
func waitedTooLong(h Host, timeout time.Duration) *Error {
	st := h.Status()
	e := &Error{Class: TimedOut, Host: st.Name, Life: st.Life, State: st.State,
		Message: fmt.Sprintf("timed out after %v: host %q is %s", timeout, st.Name, st.State)}
	if st.Reason != nil && *st.Reason != "" {
		e.Reason = *st.Reason
		e.Message += " (" + e.Reason + ")"
	}
	return e
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, in callInput) error {
	c, err := in.call()
	if err != nil {
		return err
	}
	h := in.Host
	ctx, err := in.Body.context(r.Context(), h)
	if err != nil {
		return err
	}
	if in.Body.Stream {
		s.stream(w, r.WithContext(ctx), results(h, c))
		return nil
	}
	raw, err := h.Call(ctx, c)
	if err != nil {
		return callFail(h, c.Method, err)
	}
	text, err := resultJSON(h, raw)
	if err != nil {
		return err
	}
	return answer(w, callResponse{text})
}

func (s *Server) notify(ctx context.Context, in callInput) (out struct{}, err error) {
	c, err := in.call()
	if err != nil {
		return out, err
	}
	if ctx, err = in.Body.context(ctx, in.Host); err != nil {
		return out, err
	}
	if err := in.Host.Notify(ctx, c.Method, c.Params); err != nil {
		return out, callFail(in.Host, c.Method, err)
	}
	return out, nil
}

// call puts the params of the request into the host's encoding.
func (in callInput) call() (c Call, err error) {
	h, q := in.Host, in.Body
	if q.Method == "" {
		return c, invalid("no method to call")
	}
	c = Call{Method: q.Method, Idempotent: q.Idempotent, Trace: traceOf(in.Parent, in.State)}
	if c.Timeout, err = seconds(q.Timeout); err != nil {
		return c, err
	}
	enc := h.Encoding()
	if enc == nil {
		return c, callFail(h, q.Method, fmt.Errorf("host %q: %w", h.Status().Name, supervisor.ErrNoProtocol))
	}
	if len(q.Params) > 0 {
		if c.Params, err = enc.FromJSON(q.Params); err != nil {
			return c, invalid("the params cannot be encoded in the host's protocol: " + err.Error())
		}
	}
	return c, nil
}

var traceParent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
})

// maxTraceState is what W3C wants to be passed on at least, in bytes.
const maxTraceState = 512

// traceOf returns the trace context of a request, and none if it is malformed, as W3C
// wants it.
func traceOf(parents, states []string) (t codec.Trace) {
	if len(parents) != 1 || !traceParent().MatchString(parents[0]) {
		return t
	}
	t.Parent = parents[0]
	if state := strings.Join(states, ","); len(state) <= maxTraceState {
		t.State = state
	}
	return t
}

// resultJSON renders a host's result.
func resultJSON(h Host, raw codec.Raw) ([]byte, error) {
	if raw == nil {
		return []byte("null"), nil
	}
	text, err := h.Encoding().ToJSON(raw)
	if err != nil {
		return nil, &Error{Class: HostError, Host: h.Status().Name, Message: "the result cannot be shown as JSON: " + err.Error()}
	}
	return text, nil
}

func callFail(h Host, method string, err error) *Error {
	e := hostFail(h, err)
	if e.Method == "" {
		e.Method = method
	}
	return e
}

func hostFail(h Host, err error) *Error {
	e := describe(err, h.Encoding())
	if e.Host == "" {
		e.Host = h.Status().Name
	}
	return e
}

// maxSeconds bounds the timeout of a caller, so that it is a Duration.
const maxSeconds = float64(math.MaxInt64/int64(time.Second)) / 2

func seconds(f float64) (time.Duration, error) {
	if !(f >= 0 && f <= maxSeconds) { // also NaN
		return 0, invalid(fmt.Sprintf("%v is not a number of seconds to wait", f))
	}
	return time.Duration(math.Ceil(f * float64(time.Second))), nil
}
