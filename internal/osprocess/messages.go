package osprocess

import (
	"os"
	"syscall"

	"github.com/hostsup/hostsup/sandbox"
)

// Messages to the actor of a process.
type (
	// Start asks for the process, once.
	Start struct {
		Command *sandbox.Command
		Close   []*os.File // the child's ends; closed once it has them, or has not
	}
	// Signal asks for a signal to the process group, or with Alone to the
	// process. It is not an error when the process has ended.
	Signal struct {
		Signal syscall.Signal
		Alone  bool
	}
	// Kill asks for the end of the process and of everything it started, also
	// after it has ended.
	Kill struct{}
)

// Messages to its owner.
type (
	// Started says that the process runs.
	Started struct {
		Key   any
		Child *sandbox.Child // the owner releases it, after Done
	}
	// Failed says that the process could not be started. Err is a
	// *sandbox.StartError mostly.
	Failed struct {
		Key any
		Err error
	}
	// Exited says that the process itself has ended. It never comes before Started.
	Exited struct {
		Key  any
		Exit sandbox.Exit
	}
)
