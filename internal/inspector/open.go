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
	Key string // identifies the process; pids are reused
	PID int
	// Signal sends a signal to exactly this process.
	Signal func(sig syscall.Signal) error
	// Errors yields the lines that the process has written to its standard error:
	// known lines with a number over after, and with follow also new ones, until ctx
	// ends.
	Errors func(ctx context.Context, after uint64, follow bool) iter.Seq[Line]
	// Await returns when the process has ended or is being stopped, or ctx ends.
	Await func(ctx context.Context)
}

// Line is one line, with a number that counts up.
type Line struct {
	Seq  uint64
	Text string
}

// RefusedError is the reason why the inspector of a process cannot be opened.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...)}
}

// Arguments with which node is configured at its start, as package extensions/vscode passes
// them.
const (
	anyPort = "--inspect-port=0"             // a free one, on loopback
	quiet   = "--inspect-publish-uid=stderr" // the port does not publish the id over HTTP
)

// isNode reports whether path is a node program.
func isNode(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	return name == "node" || name == "nodejs"
}

// mode is how a process's inspector was configured.
type mode struct {
	quiet   bool // it does not publish its id
	anyPort bool
}

// examine returns the mode of a process that can be asked to open its port.
func (t *Target) examine() (mode, error) {
	path, err := sys.ProgramOf(t.PID)
	switch {
	case errors.Is(err, sys.ErrUnsupported):
		return mode{}, refuse("processes cannot be inspected on this system")
	case err != nil:
		return mode{}, refuse("process %d cannot be examined: %v", t.PID, err)
	case !isNode(path):
		return mode{}, refuse("it runs %s, and only node has an inspector", filepath.Base(path))
	}
	args, err := sys.CommandLine(t.PID)
	if err != nil {
		return mode{}, refuse("process %d cannot be examined: %v", t.PID, err)
	}
	return mode{quiet: slices.Contains(args, quiet), anyPort: slices.Contains(args, anyPort)}, nil
}

// find returns the address of the inspector if it is open, and the number of the last
// line that it examined.
func (t *Target) find(ctx context.Context, m mode) (found Address, last uint64, ok bool) {
	for line := range t.Errors(ctx, 0, false) {
		last = line.Seq
		if port, id, listens := announced(line.Text); listens {
			if a, open := at(t.PID, port, id); open {
				found, ok = a, true // the last one counts
			}
		}
	}
	if !ok && !m.quiet {
		found, ok = published(ctx, t.PID)
	}
	return found, last, ok
}

// checkRunning returns an error for a process that is stopped or has ended.
func (t *Target) checkRunning() error {
	st, err := sys.ReadStat(t.PID)
	switch {
	case err != nil:
		return refuse("process %d cannot be examined: %v", t.PID, err)
	case st.State == 'T' || st.State == 't':
		return refuse("process %d is stopped", t.PID)
	case st.State == 'Z' || st.State == 'X':
		return refuse("process %d has ended", t.PID)
	}
	return nil
}

// pollInterval is how often open looks for a port that was not announced.
const pollInterval = 100 * time.Millisecond

// open makes the process open its inspector, and waits for that until ctx ends.
// opened is false if it was open already.
func (t *Target) open(ctx context.Context, m mode) (a Address, opened bool, err error) {
	a, last, ok := t.find(ctx, m)
	if ok {
		return a, false, nil
	}
	if err := t.checkRunning(); err != nil {
		return Address{}, false, err
	}
	caught, err := sys.SignalCaught(t.PID, sys.UserSignal)
	if err != nil {
		return Address{}, false, refuse("process %d cannot be examined: %v", t.PID, err)
	}
	if !caught {
		return Address{}, false, refuse("its node does not take SIGUSR1 (yet, or not at all), so the signal would kill it")
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
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case line := <-lines:
			if port, id, listens := announced(line.Text); listens {
				if a, ok := at(t.PID, port, id); ok {
					return a, true, nil
				}
			}
			if strings.HasPrefix(line.Text, failedPrefix) {
				return Address{}, false, refuse("node reports: %s (with %s it takes any free port)", line.Text, anyPort)
			}
		case <-tick.C:
			if !m.quiet {
				if a, ok := published(ctx, t.PID); ok {
					return a, true, nil
				}
			}
		case <-ctx.Done():
			return Address{}, false, ctx.Err()
		}
	}
}
