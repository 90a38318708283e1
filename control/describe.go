package control

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// maxCauses bounds the chain of causes that is passed on. Protocols cut theirs at
// the same length.
const maxCauses = 16

// describe converts an error of the supervisor or of this package for the wire. enc
// renders the data of a host's own error; it may be nil.
func describe(err error, enc codec.Encoding) *Error {
	var ready *Error
	if errors.As(err, &ready) {
		return ready
	}
	e := &Error{Class: classOf(err), Message: err.Error()}

	var host *actors.HostError
	var call *actors.CallError
	var state *actors.StateError
	var peer *codec.Error
	if errors.As(err, &host) {
		e.Host, e.Life, e.Reason = host.Host, host.Life, host.Reason
		if host.Exit != nil {
			e.Exit = &Exit{Code: host.Exit.Code, Signal: host.Exit.Signal}
		}
	}
	if errors.As(err, &call) {
		e.Host, e.Method = call.Host, call.Method
	}
	if errors.As(err, &state) {
		e.Host, e.State, e.Want, e.Reason = state.Host, state.State, state.Want, state.Reason
	}
	if errors.As(err, &peer) {
		e.addPeer(peer, enc)
	}
	return e
}

// ClassOf returns the class that callers of the API are told of an error of a [Host]; "" for
// nil, which is no error.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	return describe(err, nil).Class
}

func classOf(err error) Class {
	for _, row := range classes {
		if row.is != nil && errors.Is(err, row.is) {
			return row.class
		}
	}
	var peer *codec.Error
	switch {
	case errors.As(err, &peer):
		return HostError
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Internal
}

func (e *Error) addPeer(p *codec.Error, enc codec.Encoding) {
	if e.Class == HostError || e.Class == NoSuchMethod {
		e.Message = p.Message
	}
	e.Name, e.Code, e.Stack, e.Data = p.Name, p.Code, p.Stack, dataJSON(p.Data, enc)
	tail := &e.Cause
	for c, n := p.Cause, 0; c != nil && n < maxCauses; c, n = c.Cause, n+1 {
		*tail = &Cause{Name: c.Name, Message: c.Message, Code: c.Code, Stack: c.Stack, Data: dataJSON(c.Data, enc)}
		tail = &(*tail).Cause
	}
}

// dataJSON renders evidence for people. Evidence that cannot be rendered is left
// out, so that it does not hide its error.
func dataJSON(raw codec.Raw, enc codec.Encoding) json.RawMessage {
	if raw == nil || enc == nil {
		return nil
	}
	text, err := enc.ToJSON(raw)
	if err != nil {
		return nil
	}
	return text
}

// invalid returns an error about the request itself.
func invalid(message string) *Error { return &Error{Class: Invalid, Message: message} }
