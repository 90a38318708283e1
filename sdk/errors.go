package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Errors of this package; test with errors.Is.
var (
	// ErrPeerGone is how Serve ends, and the cause in every handler's context,
	// when the supervisor's side of the connection closes without a goodbye.
	ErrPeerGone error = ending("the supervisor closed the connection without a goodbye")
	// ErrCancelled is the cause in the context of a handler whose caller has
	// lost interest.
	ErrCancelled error = ending("cancelled by the caller")
	// ErrShuttingDown is the cause in the contexts of handlers that were still
	// running when the time for draining was over.
	ErrShuttingDown error = ending("the host is shutting down")
	// ErrDeactivated is the cause in the contexts of handlers, and of what runs
	// with [Activation.Go], of an extension that is switched off.
	ErrDeactivated error = deactivated{"the extension is deactivated"}
	// ErrManifest is returned by Serve when an extension is none.
	ErrManifest = errors.New("extension cannot be used")
	// ErrClosed is returned for calls and notifications when the connection has
	// ended otherwise.
	ErrClosed error = ending("the connection has ended")
	// ErrServed is returned by the second Serve of one Server.
	ErrServed = errors.New("a server serves one connection in its life")
	// ErrInline is returned by Call when an inline handler makes it: the answer
	// could only be read by the loop that the handler holds.
	ErrInline = errors.New("an inline handler cannot call and wait")
	// ErrNoTransport is returned by Open when nothing names a connection.
	ErrNoTransport = errors.New("no connection to a supervisor")
	// ErrStuck is returned by Serve when handlers go on running although their
	// contexts have ended; they are left behind.
	ErrStuck = errors.New("handlers did not return")
	// ErrUncollected is returned by the send function of a stream whose caller
	// gave no credit, when the items together are too large for one answer.
	ErrUncollected = link.ErrUncollected
)

// ending is an error that ends contexts; as one, it is also context.Canceled.
type ending string

// deactivated is what callers hear by its name.
type deactivated struct{ ending }

func (deactivated) ErrorName() string { return codec.NameNotActive }

func (e ending) Error() string        { return string(e) }
func (e ending) Is(target error) bool { return target == context.Canceled }

const (
	maxCauses = 16       // as many as protocol 1 carries
	maxStack  = 16 << 10 // bytes of a panic's stack in an answer
)

// Names of errors that this package answers with, besides those of codec.
const (
	NameError         = "Error"                // an error without a name of its own
	NameInvalidResult = link.NameInvalidResult // a result that cannot be encoded
	NameTooLarge      = link.NameTooLarge      // a result over the limit of a message
)

// answerOf turns what a handler returned into what is answered.
func answerOf(err error) *codec.Error {
	return chainOf(err, maxCauses)
}

func chainOf(err error, left int) *codec.Error {
	if own, ok := err.(*codec.Error); ok { //nolint:errorlint // what wraps one is a link of the chain
		return own
	}
	e := &codec.Error{Name: NameError, Message: err.Error()}
	// A wrapped error keeps the name one can branch on; only the message grows.
	var named interface{ ErrorName() string }
	var own *codec.Error
	switch {
	case errors.As(err, &named) && named.ErrorName() != "":
		e.Name = named.ErrorName()
	case errors.As(err, &own):
		e.Name, e.Code = own.Name, own.Code
	}
	if cause := unwrap(err); cause != nil && left > 1 {
		e.Cause = chainOf(cause, left-1)
	}
	return e
}

// unwrap goes one step down; of several wrapped errors it takes the first, as
// the wire has room for one chain.
func unwrap(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			if e != nil {
				return e
			}
		}
		return nil
	}
	return errors.Unwrap(err)
}

// panicked is the answer of a handler that panicked with v.
func panicked(v any) *codec.Error {
	e := &codec.Error{Name: codec.NamePanic, Message: fmt.Sprint(v)}
	if err, ok := v.(error); ok {
		if cause := unwrap(err); cause != nil {
			e.Cause = chainOf(cause, maxCauses-1)
		}
	}
	stack := debug.Stack()
	e.Stack = string(stack[:min(len(stack), maxStack)])
	return e
}

func methodNotFound(method string) *codec.Error {
	return &codec.Error{Name: codec.NameMethodNotFound, Message: fmt.Sprintf("no method %q", method)}
}

func shuttingDown() *codec.Error {
	return &codec.Error{Name: codec.NameShuttingDown, Message: ErrShuttingDown.Error()}
}

func cancelled() *codec.Error {
	return &codec.Error{Name: codec.NameCancelled, Message: ErrCancelled.Error()}
}
