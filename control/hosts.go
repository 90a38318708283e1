package control

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// verb returns a handler that runs do as long as its caller stays connected, and
// responds with the state of the host afterwards.
func verb(do func(Host, context.Context) error) hostHandler {
	return func(w http.ResponseWriter, r *http.Request, h Host) error {
		if err := do(h, r.Context()); err != nil {
			return hostFail(h, err)
		}
		return answer(w, tidyHost(h.Status()))
	}
}

func (s *Server) wait(w http.ResponseWriter, r *http.Request, h Host) error {
	var q waitRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	timeout, err := seconds(q.Timeout)
	if err != nil {
		return err
	}
	if len(q.States) == 0 {
		return invalid("no state to wait for")
	}
	for _, st := range q.States {
		if !st.Valid() {
			return invalid(fmt.Sprintf("%q is not a state", st))
		}
	}
	ctx := r.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if err := h.Wait(ctx, q.States...); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return waitedTooLong(h, timeout)
		}
		return hostFail(h, err)
	}
	return answer(w, tidyHost(h.Status()))
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

func (s *Server) call(w http.ResponseWriter, r *http.Request, h Host) error {
	c, stream, err := s.callOf(r, h)
	if err != nil {
		return err
	}
	if stream {
		return s.callStream(w, r, h, c)
	}
	raw, err := h.Call(r.Context(), c)
	if err != nil {
		return callFail(h, c.Method, err)
	}
	text, err := resultJSON(h, raw)
	if err != nil {
		return err
	}
	return answer(w, callResponse{text})
}

func (s *Server) notify(w http.ResponseWriter, r *http.Request, h Host) error {
	c, _, err := s.callOf(r, h)
	if err != nil {
		return err
	}
	if err := h.Notify(r.Context(), c.Method, c.Params); err != nil {
		return callFail(h, c.Method, err)
	}
	return answer(w, struct{}{})
}

// callOf reads a callRequest and puts its params into the host's encoding.
func (s *Server) callOf(r *http.Request, h Host) (c Call, stream bool, err error) {
	var q callRequest
	if err := decode(r, &q); err != nil {
		return c, false, err
	}
	if q.Method == "" {
		return c, false, invalid("no method to call")
	}
	c = Call{Method: q.Method, Idempotent: q.Idempotent}
	if c.Timeout, err = seconds(q.Timeout); err != nil {
		return c, false, err
	}
	enc := h.Encoding()
	if enc == nil {
		return c, false, callFail(h, q.Method, fmt.Errorf("host %q: %w", h.Status().Name, supervisor.ErrNoProtocol))
	}
	if len(q.Params) > 0 {
		if c.Params, err = enc.FromJSON(q.Params); err != nil {
			return c, false, invalid("the params cannot be encoded in the host's protocol: " + err.Error())
		}
	}
	return c, q.Stream, nil
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
