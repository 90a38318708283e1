package execserver

import (
	"context"
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
	// 1 MiB of output, and says so with a [LaggedError]. Nobody else notices.
	Drop Overflow = iota
	// Stall loses nothing: over 1 MiB of output that was not read yet the
	// client stops reading from the server, which in turn stops the process,
	// and with it whatever else comes over this connection. It goes on reading
	// while a request of its own waits for an answer, so that a subscriber may
	// make requests; over 64 MiB not even then.
	Stall
)

const (
	stallBytes = 1 << 20  // from here on reading stops while nobody waits for an answer
	stallHard  = 64 << 20 // from here on it stops
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
	queue  []Event
	bytes  int
	missed *LaggedError // what was dropped before queue[0]
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

// pop takes one event. p.mu is held.
func (s *Subscription) pop() (Event, bool, error) {
	if s.closed || s.over {
		return Event{}, false, io.EOF
	}
	if m := s.missed; m != nil {
		s.missed = nil
		return Event{}, false, m
	}
	if len(s.queue) == 0 {
		return Event{}, false, nil
	}
	e := s.queue[0]
	s.queue[0] = Event{}
	s.queue = s.queue[1:]
	if e.Kind == gapHere {
		return Event{}, false, e.Err
	}
	s.bytes -= len(e.Data)
	s.over = e.Kind == Closed || e.Kind == Failed
	s.readSome()
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
		into = append(into, s.queue...)
		clear(s.queue)
		s.queue, s.bytes = s.queue[:0], 0
		last := into[len(into)-1].Kind
		s.over = last == Closed || last == Failed
		s.readSome()
	}
	return into, nil
}

// readSome tells the connection that there is room again.
func (s *Subscription) readSome() {
	if s.overflow == Stall {
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
// throws its stream away. An error of a writer ends the copying, and so does a
// *LaggedError.
func (s *Subscription) Copy(ctx context.Context, stdout, stderr io.Writer) (Exit, error) {
	var exit Exit
	var events []Event
	for {
		var err error
		if events, err = s.take(ctx, events); err != nil {
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
				return exit, nil
			case Failed, gapHere:
				return exit, e.Err
			}
		}
	}
}

// Close ends the subscription: a Next that waits returns io.EOF, and nothing
// is stalled for it any more. The process is not concerned.
func (s *Subscription) Close() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.closed {
		return
	}
	s.closed, s.queue, s.bytes = true, nil, 0
	s.p.subs = slices.DeleteFunc(s.p.subs, func(other *Subscription) bool { return other == s })
	signal(s.wake)
	signal(s.room)
}

// add appends an event. p.mu is held.
func (s *Subscription) add(e Event) {
	if e.Seq > 0 {
		switch {
		case e.Seq <= s.next:
		case len(s.queue) == 0:
			s.miss(s.next, e.Seq)
		default:
			s.queue = append(s.queue, Event{Kind: gapHere, Err: &LaggedError{First: s.next, Next: e.Seq}})
		}
		s.next = e.Seq + 1
	}
	s.queue = append(s.queue, e)
	s.bytes += len(e.Data)
	if s.overflow == Drop {
		for len(s.queue) > logEvents || len(s.queue) > 1 && s.bytes > logBytes {
			old := s.queue[0]
			s.queue[0] = Event{}
			s.queue = s.queue[1:]
			s.bytes -= len(old.Data)
			if lag, ok := old.Err.(*LaggedError); ok && old.Kind == gapHere { //nolint:errorlint // our own mark
				s.miss(lag.First, lag.Next)
			} else {
				s.miss(old.Seq, old.Seq+1)
			}
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

// full says whether the connection has to stop reading for s. waiting is
// whether a request waits for its answer.
func (s *Subscription) full(waiting bool) bool {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return !s.closed && (s.bytes > stallHard || s.bytes > stallBytes && !waiting)
}

func (s *Subscription) hasRoom() <-chan struct{} { return s.room }

// signal puts a token into a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
