package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Code that runs in a process. Node that ends with a session attached reports that on
// its standard error and waits for the session to end, without a limit, unless a
// listener of its last event has closed the port. The symbol identifies the listener.
const (
	hook = `(k => {
	if (!process._exiting && !process[k]) process.prependListener('exit', process[k] = () => process._debugEnd());
})(Symbol.for('hostsup.inspector'));`
	unhook = `(k => {
	if (process[k]) process.off('exit', process[k]);
	delete process[k];
})(Symbol.for('hostsup.inspector'));`
	isEnding = `process._exiting === true`
)

// turnWithin is how long node's event loop may take for one turn before the port is
// closed without it.
const turnWithin = time.Second

// Shut makes node close its port, and the session with it. With anyPort node forgets
// the port number: the next time it takes another one.
//
// NOTE: The port must be closed from the event loop if the loop turns. On SIGUSR1 node
// requests the port twice, by an interrupt of running code and by a wake-up of its
// loop, and whichever comes second does nothing if the port is open. A port that is
// closed between the two is opened again. Hung code is interrupted after turnWithin,
// and the loop closes the port once more when it turns again.
func (s *Session) Shut(ctx context.Context, anyPort bool) error {
	code := "setImmediate(() => { " + unhook + " process._debugEnd(); })"
	if anyPort {
		code = "process.debugPort = 0; " + code
	}
	err := s.shut(ctx, code)
	switch {
	case errors.Is(err, ErrGone):
		return nil
	case errors.Is(err, ErrThrown):
		return fmt.Errorf("the port cannot be closed: %w", err)
	}
	return err
}

// shut runs code that closes the port from the event loop, or closes the port at once
// if the loop does not turn. It returns an error when the session has ended, mostly
// [ErrGone].
func (s *Session) shut(ctx context.Context, code string) error {
	if err := s.evaluate(ctx, code, nil); err != nil {
		return err
	}
	turn := time.NewTimer(turnWithin)
	defer turn.Stop()
	select {
	case <-s.done:
		return s.why()
	case <-ctx.Done():
		return ctx.Err()
	case <-turn.C:
	}
	if err := s.evaluate(ctx, "process._debugEnd()", nil); err != nil {
		return err
	}
	select {
	case <-s.done:
		return s.why()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrThrown means that code run in a process threw an exception.
var ErrThrown = errors.New("exception")

// evaluate runs code in the process and decodes its value into out, unless out is nil.
// Errors: ErrThrown, those of [Session.Call].
func (s *Session) evaluate(ctx context.Context, code string, out any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	if err := s.Call(ctx, "Runtime.evaluate", map[string]any{"expression": code, "silent": true}, &answer); err != nil {
		return err
	}
	if e := answer.ExceptionDetails; e != nil {
		return fmt.Errorf("%w: %s", ErrThrown, e.Text)
	}
	if out == nil || len(answer.Result.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer.Result.Value, out); err != nil {
		return fmt.Errorf("%w: a value: %w", ErrProtocol, err)
	}
	return nil
}
