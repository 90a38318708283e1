package supervisor

import (
	"errors"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// Errors of calls and verbs; test with errors.Is. What a host itself answers is
// a *codec.Error. The typed errors carry the evidence; use errors.As.
var (
	ErrCrashed      = actors.ErrCrashed      // *HostError: the host crashed before it answered
	ErrUnresponsive = actors.ErrUnresponsive // *HostError: it was killed for being unresponsive
	ErrStopped      = actors.ErrStopped      // *HostError, *StateError: it is stopped or stopping
	ErrCutOff       = actors.ErrCutOff       // *HostError: it was under way at a stop, and not answered in time; also ErrStopped
	ErrFailed       = actors.ErrFailed       // *HostError, *StateError: it has given up
	ErrTimeout      = actors.ErrTimeout      // *CallError; also context.DeadlineExceeded
	ErrCancelled    = actors.ErrCancelled    // *CallError; also context.Canceled
	ErrOverloaded   = actors.ErrOverloaded   // *CallError: max_pending requests are open
	ErrNoSuchMethod = actors.ErrNoSuchMethod // *CallError; also the host's *codec.Error
	ErrNoProtocol   = actors.ErrNoProtocol   // *CallError: the host is supervised without speaking to it
	ErrReserved     = actors.ErrReserved     // *CallError: the supervisor opens or ends connections by this method
	ErrUnsendable   = actors.ErrUnsendable   // *CallError: the protocol cannot carry the message; also a *codec.FrameError
	ErrNoHost       = actors.ErrNoHost       // no host has this name
	ErrNameTaken    = actors.ErrNameTaken    // Add: a host or group has this name
	ErrClosed       = actors.ErrClosed       // the supervisor has stopped
	ErrSpec         = hostspec.ErrSpec       // Start, Add: the specification cannot be run
	ErrNoCrash      = reports.ErrNotFound    // Crash: no report has this id
	ErrAmbiguous    = reports.ErrAmbiguous   // Crash: several reports have ids that begin so
	ErrHostFailed   = errors.New("a host has failed")
)

// The typed errors; see package actors.
type (
	HostError  = actors.HostError
	CallError  = actors.CallError
	StateError = actors.StateError
)
