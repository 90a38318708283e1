package execserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Overflow says what happens when a subscriber reads more slowly than a
// process writes.
type Overflow uint8

const (
	// Drop drops the oldest events that were not read yet, over 256 of them or
	// 1 MiB of output, and reports it with a [LaggedError]. Nothing else is
	// affected.
	Drop Overflow = iota
	// Keep loses nothing up to a bound. Unread output over 1 MiB goes to a
	// temporary file of at most Options.Spill bytes. What comes while that is
	// full is dropped and reported to this subscription by a [LaggedError] in
	// its place.
	//
	// A process that has the connection to itself is slowed down instead: while
	// no other process, HTTP answer, watch or request of the client uses the
	// connection, the client stops reading it over 1 MiB, and the server in turn
	// stops the process. So a reader of one process loses nothing, however slow
	// it is, and no reader ever holds up another process.
	Keep
)

// gapHere marks, in a queue, events that did not come.
const gapHere Kind = 0

// Subscription reads the events of one process in order. Next and the other
// reading methods are for one goroutine at a time; Close may be called by any.
type Subscription struct {
	p        *Process
	overflow Overflow
	wake     chan struct{} // something to read, or closed; room for one
	room     chan struct{} // something was read; room for one

	// Guarded by p.mu.
	only   wire.Stream // output of other streams is skipped, unless this is ""
	queue  backlog
	missed *LaggedError // what was dropped before the first of queue
	next   uint64       // number of the event that comes next
	closed bool
	over   bool // the final event was read
}

// Next returns the next event and waits for one until ctx is done. After
// Closed or Failed, and after Close, it returns io.EOF. A *LaggedError says
// that events are missing here; reading goes on behind them.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.p.mu.Lock()
		e, ok, err := s.pop()
		s.p.mu.Unlock()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// pop takes one event. The caller must hold p.mu.
func (s *Subscription) pop() (Event, bool, error) {
	if s.closed || s.over {
		return Event{}, false, io.EOF
	}
	if m := s.missed; m != nil {
		s.missed = nil
		return Event{}, false, m
	}
	e, ok := s.queue.pop()
	if !ok {
		return Event{}, false, nil
	}
	s.readSome()
	if e.Kind == gapHere {
		return Event{}, false, e.Err
	}
	s.read(e.Kind)
	return e, true, nil
}

// take returns all that can be read at once and waits for the first. into is
// reused.
func (s *Subscription) take(ctx context.Context, into []Event) ([]Event, error) {
	e, err := s.Next(ctx)
	if err != nil {
		return nil, err
	}
	into = append(into[:0], e)
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.missed == nil && !s.closed {
		into = s.queue.popMemory(into)
		s.read(into[len(into)-1].Kind)
		s.readSome()
	}
	return into, nil
}

// read notes that an event of a kind was read. The caller must hold p.mu.
func (s *Subscription) read(k Kind) {
	if k == Closed || k == Failed {
		s.over = true
		s.queue.close()
	}
}

// readSome signals to the connection that there is room again.
func (s *Subscription) readSome() {
	if s.overflow == Keep {
		signal(s.room)
	}
}

// All ranges over the events until the last one, an error or the end of ctx.
// It goes on after a *LaggedError.
func (s *Subscription) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := s.Next(ctx)
			if err == io.EOF { //nolint:errorlint // Next returns exactly this
				return
			}
			if !yield(e, err) {
				return
			}
			if _, lagged := err.(*LaggedError); err != nil && !lagged { //nolint:errorlint // Next wraps nothing
				return
			}
		}
	}
}

// Copy writes the output of the process to stdout and stderr until its end and
// returns how it ended; what a terminal shows goes to stdout. A nil writer
// throws its stream away. An error of a writer ends the copying. A *LaggedError
// does not, but is returned at the end.
func (s *Subscription) Copy(ctx context.Context, stdout, stderr io.Writer) (Exit, error) {
	var exit Exit
	var events []Event
	var lag error
	for {
		var err error
		events, err = s.take(ctx, events)
		if errors.Is(err, ErrLagged) {
			lag = cmp.Or(lag, err)
			continue
		}
		if err != nil {
			if err == io.EOF { //nolint:errorlint // Next returns exactly this
				err = ErrClosed
			}
			return exit, err
		}
		for _, e := range events {
			switch e.Kind {
			case Output:
				w := stdout
				if e.Stream == wire.Stderr {
					w = stderr
				}
				if w == nil {
					continue
				}
				if _, err := w.Write(e.Data); err != nil {
					return exit, err
				}
			case Exited:
				exit = Exit{Code: e.ExitCode, SandboxDenied: e.SandboxDenied}
			case Closed:
				return exit, lag
			case Failed:
				return exit, e.Err
			case gapHere:
				lag = cmp.Or(lag, e.Err)
			}
		}
	}
}

// Close ends the subscription: a Next that waits returns io.EOF, and the connection
// is not stalled for it any more. The process goes on.
func (s *Subscription) Close() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.queue.close()
	s.p.subs = slices.DeleteFunc(s.p.subs, func(other *Subscription) bool { return other == s })
	signal(s.wake)
	signal(s.room)
}

// add appends an event. The caller must hold p.mu.
func (s *Subscription) add(e Event) {
	if s.only != "" && e.Kind == Output && e.Stream != s.only {
		if e.Seq == s.next {
			s.next++
		}
		return
	}
	if !s.queue.fits(&e) {
		return // the next event that fits reports the gap
	}
	if e.Seq > s.next {
		if s.queue.empty() {
			s.miss(s.next, e.Seq)
		} else {
			s.queue.push(Event{Kind: gapHere, Err: &LaggedError{First: s.next, Next: e.Seq}})
		}
		s.next = e.Seq
	}
	if !s.queue.push(e) {
		return
	}
	if e.Seq > 0 {
		s.next = e.Seq + 1
	}
	for s.overflow == Drop && (len(s.queue.mem) > logEvents || len(s.queue.mem) > 1 && s.queue.cost > logBytes+logEvents*eventCost) {
		old, _ := s.queue.pop()
		if lag, ok := old.Err.(*LaggedError); ok && old.Kind == gapHere { //nolint:errorlint // our own mark
			s.miss(lag.First, lag.Next)
		} else {
			s.miss(old.Seq, old.Seq+1)
		}
	}
	signal(s.wake)
}

// miss records that the events from first up to and without next are missing.
func (s *Subscription) miss(first, next uint64) {
	if s.missed == nil {
		s.missed = &LaggedError{First: first}
	}
	s.missed.Next = next
}

// full reports whether s is behind by more than stays in memory.
func (s *Subscription) full() bool {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return !s.closed && s.queue.slow()
}

func (s *Subscription) hasRoom() <-chan struct{} { return s.room }

// signal puts a token into a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
