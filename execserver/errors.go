package execserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Errors that callers branch on with errors.Is. The types below carry the evidence.
var (
	// ErrClosed: the client, or the subscription, was closed here.
	ErrClosed = errors.New("exec-server client is closed")
	// ErrConnect: no connection came about. *ConnectError.
	ErrConnect = errors.New("exec-server connection attempt failed")
	// ErrTimeout: the server did not let itself be reached, or did not answer
	// initialize, in time.
	ErrTimeout = errors.New("timed out")
	// ErrDisconnected: the connection ended while this was going on. Whether
	// the server has done what it was asked is not known. *DisconnectedError.
	ErrDisconnected = errors.New("exec-server transport disconnected")
	// ErrSessionLost: the session cannot be resumed; its processes are lost to
	// this client. *DisconnectedError with Resume set.
	ErrSessionLost = errors.New("exec-server session lost")
	// ErrProtocol: the server has sent what this protocol does not have.
	ErrProtocol = errors.New("exec-server protocol error")
	// ErrEventsLost: the server no longer has events that are missing here.
	ErrEventsLost = errors.New("process events are no longer retained")
	// ErrLagged: a subscriber was too slow, or came too late. *LaggedError.
	ErrLagged = errors.New("subscriber lagged behind")
	// ErrSpill: the temporary file with what was not read yet cannot be read.
	ErrSpill = errors.New("the temporary file with unread output cannot be read")
	// ErrNoExtension: the server does not have the extension that this needs.
	ErrNoExtension = errors.New("exec-server does not have this extension")
	// ErrStdin: a process takes no input. *WriteError.
	ErrStdin = errors.New("standard input not accepted")

	// Answers of the server, all *RequestError.

	ErrNotFound       = errors.New("not found")         // also fs.ErrNotExist
	ErrUnknownProcess = errors.New("unknown process")   // it was never there, or is retained no longer
	ErrUnknownSession = errors.New("unknown session")   // it has expired
	ErrAttached       = errors.New("session attached")  // to another connection
	ErrNoMethod       = errors.New("no such method")    // an older server
	ErrBadParams      = errors.New("invalid params")    // wrong use
	ErrTooLarge       = errors.New("message too large") // for the server, which has not read it
	ErrUnauthorized   = errors.New("not authorized")    // 401 or 403, *RefusedError
	errMalformed      = errors.New("malformed message") // ends a connection
)

// RequestError is a request that the server has answered with an error.
type RequestError struct {
	Method string
	Err    *wire.Error
}

// Error reads "exec-server rejected process/start (-32602): argv must not be empty".
func (e *RequestError) Error() string {
	return fmt.Sprintf("exec-server rejected %s (%d): %s", e.Method, e.Err.Code, e.Err.Message)
}

// Unwrap returns the *wire.Error.
func (e *RequestError) Unwrap() error { return e.Err }

// Is reports whether e is one of the sentinels.
func (e *RequestError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Err.Code == wire.CodeNotFound
	case fs.ErrNotExist:
		return e.Err.Code == wire.CodeNotFound || e.errno() == 2 ||
			e.Err.Code == wire.CodeInternal && e.says("Unable to spawn") && strings.Contains(e.Err.Message, "No viable candidates") // a program, with a terminal
	case ErrAttached:
		return e.Err.Code == wire.CodeAlreadyAttached
	case ErrNoMethod:
		return e.Err.Code == wire.CodeMethodNotFound
	case ErrBadParams:
		return e.Err.Code == wire.CodeInvalidParams
	case ErrTooLarge:
		_, is := e.Err.TooLargeLimit()
		return is
	case ErrUnknownProcess:
		return e.Err.Code == wire.CodeInvalidRequest && e.says("unknown process id")
	case ErrUnknownSession:
		return e.Err.Code == wire.CodeInvalidRequest && e.says("unknown session id")
	case fs.ErrPermission:
		return e.errno() == 13 || e.errno() == 1
	case fs.ErrExist:
		return e.errno() == 17 || e.says("Directory not empty (os error")
	}
	return false
}

// says reports whether the message begins with start.
func (e *RequestError) says(start string) bool { return strings.HasPrefix(e.Err.Message, start) }

// errno returns the number in a message such as "No such file or directory (os
// error 2)", or 0. Unix systems agree on the small ones.
func (e *RequestError) errno() int {
	const before = "(os error "
	at := strings.LastIndex(e.Err.Message, before)
	if at < 0 {
		return 0
	}
	digits, _, ok := strings.Cut(e.Err.Message[at+len(before):], ")")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0
	}
	return n
}

// ConnectError is an attempt to reach a server that has failed.
type ConnectError struct {
	Endpoint string // as Endpoint.String has it
	Err      error  // the last of the attempts
	Attempts int
}

// Error reads "exec-server connection attempt failed: ws://127.0.0.1:1: …".
func (e *ConnectError) Error() string {
	tries := ""
	if e.Attempts > 1 {
		tries = " (attempt " + strconv.Itoa(e.Attempts) + ")"
	}
	return fmt.Sprintf("%v: %s: %v%s", ErrConnect, e.Endpoint, e.Err, tries)
}

// Unwrap returns ErrConnect and the last error.
func (e *ConnectError) Unwrap() []error { return []error{ErrConnect, e.Err} }

// TimeoutError is a step of connecting that took too long.
type TimeoutError struct {
	Step  string // "connect", "initialize" or "recovery"
	After time.Duration
	Err   error // what the last attempt came to, if there were attempts
}

// Error reads "recovery timed out after 45s: …".
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s timed out after %v", e.Step, e.After)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the last attempt's error.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Is reports whether target is ErrTimeout.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Timeout implements net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// RefusedError is a server that has refused the upgrade to a WebSocket.
type RefusedError struct {
	Status int    // of HTTP
	Text   string // the body, at most 1 KiB
}

// Error reads "refused with 401 Unauthorized: missing websocket bearer token".
func (e *RefusedError) Error() string {
	s := fmt.Sprintf("refused with %d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Is reports whether target is ErrUnauthorized, for a status of 401 or 403.
func (e *RefusedError) Is(target error) bool {
	return target == ErrUnauthorized && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// DisconnectedError is what a connection's end did to something that was going
// on. All that ended with one connection have the same Reason.
type DisconnectedError struct {
	Reason string // "" for an ordinary end
	Err    error  // what ended it, such as a *ProtocolError; nil when it just ended
	// Resume is why the session could not be resumed; nil when that was not
	// tried, or is still being tried.
	Resume error
	lost   bool // the session is lost, with or without a try
}

// Error reads "exec-server transport disconnected: …; failed to resume
// exec-server session: …".
func (e *DisconnectedError) Error() string {
	s := ErrDisconnected.Error()
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Resume != nil {
		s += "; failed to resume exec-server session: " + e.Resume.Error()
	}
	return s
}

// Is reports whether target is ErrDisconnected, or ErrSessionLost for a lost session.
func (e *DisconnectedError) Is(target error) bool {
	return target == ErrDisconnected || target == ErrSessionLost && e.lost
}

// Unwrap returns what ended the connection and why the session could not be
// resumed.
func (e *DisconnectedError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Err, e.Resume} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// ProtocolError is something that a server should not have sent.
type ProtocolError struct {
	Err   error  // what is wrong with it
	Bytes []byte // the beginning of it, at most 64 bytes
}

// Error reads `exec-server protocol error: malformed message: "not json"`.
func (e *ProtocolError) Error() string {
	s := fmt.Sprintf("%v: %v", ErrProtocol, e.Err)
	if len(e.Bytes) > 0 {
		s += fmt.Sprintf(": %q", e.Bytes)
	}
	return s
}

// Unwrap returns ErrProtocol and what is wrong.
func (e *ProtocolError) Unwrap() []error { return []error{ErrProtocol, e.Err} }

func malformed(msg []byte, format string, args ...any) *ProtocolError {
	return &ProtocolError{
		Err:   fmt.Errorf("%w: %w", errMalformed, fmt.Errorf(format, args...)),
		Bytes: append([]byte(nil), msg[:min(len(msg), 64)]...),
	}
}

// LaggedError says which events a subscriber does not get.
type LaggedError struct {
	First uint64 // number of the first that is missing
	Next  uint64 // number of the one that comes next
}

// Error reads "subscriber lagged behind: events 3 to 17 are missing".
func (e *LaggedError) Error() string {
	return fmt.Sprintf("%v: events %d to %d are missing", ErrLagged, e.First, e.Next-1)
}

// Unwrap returns ErrLagged.
func (e *LaggedError) Unwrap() error { return ErrLagged }

// LostError says up to which event a process can no longer be followed.
type LostError struct{ UpTo uint64 }

// Error reads "process events are no longer retained while recovering through
// sequence 812".
func (e *LostError) Error() string {
	return fmt.Sprintf("%v while recovering through sequence %d", ErrEventsLost, e.UpTo)
}

// Unwrap returns ErrEventsLost.
func (e *LostError) Unwrap() error { return ErrEventsLost }

// WriteError is input that a process did not take.
type WriteError struct {
	ProcessID string
	Status    wire.WriteStatus
}

// Error reads `process "1": standard input not accepted: stdinClosed`.
func (e *WriteError) Error() string {
	return fmt.Sprintf("process %q: %v: %s", e.ProcessID, ErrStdin, e.Status)
}

// Is reports whether target is ErrStdin, or ErrUnknownProcess for that status.
func (e *WriteError) Is(target error) bool {
	return target == ErrStdin || target == ErrUnknownProcess && e.Status == wire.WriteUnknownProcess
}
