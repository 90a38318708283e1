package shim

import "errors"

// Errors of Open and of a Conn.
var (
	// ErrGone means that no shim holds the folder: it has ended, or was killed.
	ErrGone = errors.New("the shim has ended")
	// ErrNotReady means that a process holds the folder that does not take connections: it
	// is being started, or it is killing what is left of the command.
	ErrNotReady = errors.New("the shim does not take connections")
	// ErrStranger means that the socket belongs to a process that is not the recorded one.
	ErrStranger = errors.New("the socket is not that of the recorded shim")
	// ErrBusy means that another client is connected.
	ErrBusy = errors.New("another client is connected")
	// ErrVersion means that the record, or the shim, is of another version.
	ErrVersion = errors.New("another version")
	// ErrTooLong means that a message is longer than Options.Most.
	ErrTooLong = errors.New("message too long for the shim")
	// ErrLost means that the connection to the shim has ended.
	ErrLost = errors.New("the connection to the shim has ended")
)
