package execserver

import (
	"fmt"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Kind says what an [Event] reports.
type Kind uint8

// The kinds. Of one process a reader sees any number of outputs with one exit
// somewhere among them, then one Closed or Failed and nothing after it.
const (
	Output Kind = iota + 1 // the process, or what it started, has written
	Exited                 // the process itself has ended; output may still follow
	Closed                 // it has ended, and its output is closed
	Failed                 // no more events will come; Event.Err says why
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Output:
		return "output"
	case Exited:
		return "exited"
	case Closed:
		return "closed"
	case Failed:
		return "failed"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Event is one thing that happened to a process on the server.
type Event struct {
	Kind Kind
	Seq  uint64 // from 1, without gaps over all kinds of one process; 0 for Failed

	Stream wire.Stream // Output: wire.PTY is both, of a process with a terminal
	Data   []byte      // Output: what was written. It is shared: not to be changed.

	ExitCode      int  // Exited: the code, or 128+N for a signal as the server tells it
	SandboxDenied bool // Exited: the server thinks that its sandbox made it fail

	Err error // Failed: why
}
