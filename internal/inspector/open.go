package inspector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Target is a process that may be node.
type Target struct {
	Key string // names the process for good; a pid may come again
	PID int
	// Signal sends a signal to exactly this process.
	Signal func(sig syscall.Signal) error
	// Errors yields the lines that it has written to its standard error, of those
	// that are known the ones with a number over after, and with follow those that
	// come, until ctx ends.
	Errors func(ctx context.Context, after uint64, follow bool) iter.Seq[Line]
	// Await returns when the process has ended or is being ended, or ctx ends.
	Await func(ctx context.Context)
}

// Line is one line, with a number that counts up.
type Line struct {
	Seq  uint64
	Text string
}

// RefusedError says why the inspector of a process cannot be opened.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...)}
}

// Arguments with which a node is told at its start how to open its port, as
// package codec/vscode tells it.
const (
	anyPort = "--inspect-port=0"             // one that is free, on loopback
	quiet   = "--inspect-publish-uid=stderr" // the id is told to nobody who asks the port for it
)

// isNode says whether a program is node, by its path.
func isNode(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	return name == "node" || name == "nodejs"
}

// how is what is to be known of a process before it is touched.
type how struct {
	quiet   bool // it does not tell who asks
	anyPort bool
}

// examine says whether a process can be asked to open its port.
func (t *Target) examine() (how, error) {
	path, err := sys.ProgramOf(t.PID)
	switch {
	case errors.Is(err, sys.ErrUnsupported):
		return how{}, refuse("processes cannot be inspected on this system")
	case err != nil:
		return how{}, refuse("process %d cannot be looked at: %v", t.PID, err)
	case !isNode(path):
		return how{}, refuse("it runs %s, and only node has an inspector", filepath.Base(path))
	}
	args, err := sys.CommandLine(t.PID)
	if err != nil {
		return how{}, refuse("process %d cannot be looked at: %v", t.PID, err)
	}
	return how{quiet: slices.Contains(args, quiet), anyPort: slices.Contains(args, anyPort)}, nil
}

// find returns where the inspector is if it is open, and the number of the last
// line that it has looked at.
func (t *Target) find(ctx context.Context, h how) (found Address, last uint64, ok bool) {
	for line := range t.Errors(ctx, 0, false) {
		last = line.Seq
		if port, id, said := announced(line.Text); said {
			if a, open := at(t.PID, port, id); open {
				found, ok = a, true // the last one counts
			}
		}
	}
	if !ok && !h.quiet {
		found, ok = published(ctx, t.PID)
	}
	return found, last, ok
}

// awake says what keeps a process from doing anything at all.
func (t *Target) awake() error {
	st, err := sys.ReadStat(t.PID)
	switch {
	case err != nil:
		return refuse("process %d cannot be looked at: %v", t.PID, err)
	case st.State == 'T' || st.State == 't':
		return refuse("process %d is stopped", t.PID)
	case st.State == 'Z' || st.State == 'X':
		return refuse("process %d has ended", t.PID)
	}
	return nil
}

// again is how often it is looked for a port of which nothing was heard.
const again = 100 * time.Millisecond

// open has the process open its inspector, and waits for that until ctx ends.
// opened is false if it was open already.
func (t *Target) open(ctx context.Context, h how) (a Address, opened bool, err error) {
	a, last, ok := t.find(ctx, h)
	if ok {
		return a, false, nil
	}
	if err := t.awake(); err != nil {
		return Address{}, false, err
	}
	caught, err := sys.SignalCaught(t.PID, sys.UserSignal)
	if err != nil {
		return Address{}, false, refuse("process %d cannot be looked at: %v", t.PID, err)
	}
	if !caught {
		return Address{}, false, refuse("its node does not take SIGUSR1 (yet, or not at all), which would end it")
	}
	ctx, cancel := context.WithCancel(ctx)
	lines, ended := make(chan Line), make(chan struct{})
	go func() { // ends with ctx
		defer close(ended)
		for line := range t.Errors(ctx, last, true) {
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		<-ended
	}()
	if err := t.Signal(sys.UserSignal); err != nil {
		return Address{}, false, refuse("process %d cannot be signalled: %v", t.PID, err)
	}
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		select {
		case line := <-lines:
			if port, id, said := announced(line.Text); said {
				if a, ok := at(t.PID, port, id); ok {
					return a, true, nil
				}
			}
			if strings.HasPrefix(line.Text, saidFailed) {
				return Address{}, false, refuse("node says: %s (%s has it take any port)", line.Text, anyPort)
			}
		case <-tick.C:
			if !h.quiet {
				if a, ok := published(ctx, t.PID); ok {
					return a, true, nil
				}
			}
		case <-ctx.Done():
			return Address{}, false, ctx.Err()
		}
	}
}
