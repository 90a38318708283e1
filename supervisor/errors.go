package supervisor

import "errors"

// Errors of calls and verbs; test with errors.Is. (typed ones: *CrashedError has Exit and Reason; *codec.Error is the host's own)
var (
	ErrNoHost       = errors.New("no such host")
	ErrNoCrash      = errors.New("no such crash report")
	ErrCrashed      = errors.New("host crashed")
	ErrUnresponsive = errors.New("host was killed for being unresponsive")
	ErrTimeout      = errors.New("timed out")
	ErrCancelled    = errors.New("cancelled")
	ErrOverloaded   = errors.New("too many requests pending")
	ErrStopped      = errors.New("host is stopped")
	ErrFailed       = errors.New("host has failed")
	ErrNoSuchMethod = errors.New("no such method")
	ErrNoProtocol   = errors.New("host speaks no protocol")
	ErrHostFailed   = errors.New("a host has failed")
)
