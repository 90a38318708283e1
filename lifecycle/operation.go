package lifecycle

import "slices"

// Operation is what a person or a program asks of a host and waits for.
type Operation string

// The operations.
const (
	OpStart   Operation = "start"   // done when the host runs
	OpStop    Operation = "stop"    // done when it is stopped and its processes have ended
	OpRestart Operation = "restart" // stop, then start; done when the host runs
)

// Operate begins an operation. Exactly one [Done] with the same ID follows, now
// or later: at the latest when the host is at rest and nothing starts it.
type Operate struct {
	Operation Operation
	By        By // ByPerson; or ByProgram, whose OpStop is a request that the group may refuse (see [AskStop]), or BySchedule; these are refused where a person stopped the host or it was given up, unless it is a job, of which each run is another matter
	ID        uint64
	Why       string // the reason of OpRestart, and BySchedule, which must not ask for OpStop, that of the start; "": restart asked for
}

// Done ends an operation.
type Done struct {
	ID     uint64
	OK     bool
	State  State // the state of the host; if not OK, instead of the one asked for
	Reason string
}

// operation is one whose Done is to follow.
type operation struct {
	op      Operation
	id      uint64
	request int  // number of the last request to the group when it had begun
	asks    bool // a stop that the group has to allow, see AskStop
}

// operate begins an operation.
func (s *step) operate(e Operate) {
	op, id := e.Operation, e.ID
	asks := op == OpStop && e.By == ByProgram
	if (e.By == ByProgram || e.By == BySchedule) && (s.StoppedByPerson() || s.state == Failed && !s.rules.Job) || asks && !s.state.Up() {
		s.do(Done{ID: id, State: s.state, Reason: s.Reason()})
		return
	}
	if e.By == BySchedule {
		s.due = e.Why
	}
	switch {
	case asks:
		s.requested++
		s.do(AskStop{s.requested})
	case op == OpStop:
		s.stop(Stop{By: e.By, Reason: "stopped by request"})
		s.finish(func(o operation) bool { return o.op != OpStop }, false, s.state, "stopped by request")
	case op == OpStart && s.state.Up():
		s.do(Done{ID: id, OK: true, State: s.state})
		return
	case s.state == Stopping && s.by == ByTree:
		s.do(Done{ID: id, State: Stopping, Reason: s.reason})
		return
	case op == OpRestart:
		if e.Why == "" {
			e.Why = "restart asked for"
		}
		s.restart(e.By, e.Why)
	default:
		s.wish(e.By)
	}
	// A step with one replaces the list: the machine is a value.
	s.ops = append(slices.Clip(s.ops), operation{op, id, s.requested, asks})
	s.stopped()
}

// keep ends the stops that the present command does not allow.
func (s *step) keep() {
	s.finish(func(o operation) bool { return o.asks && s.ack >= o.request }, false, s.state, "it is needed")
}

// stopped ends the stops of a host that is down.
func (s *step) stopped() {
	if s.state == Stopped && !s.Present() {
		s.finish(func(o operation) bool { return o.op == OpStop }, true, Stopped, "")
	}
}

// refuse ends the operations whose requests the present command has acted on, by not
// starting the host.
func (s *step) refuse(reason string) {
	s.finish(func(o operation) bool { return o.op != OpStop && s.ack >= o.request }, false, s.state, reason)
}

// outcomes ends the operations whose outcome the transitions of this step are.
func (s *step) outcomes() {
	for _, e := range s.out {
		t, ok := e.(Transition)
		if !ok {
			continue
		}
		switch t.To {
		case Running:
			s.finish(func(o operation) bool { return o.op != OpStop }, true, t.To, t.Reason)
		case Crashed:
			s.finish(func(o operation) bool { return o.op != OpStop }, false, t.To, t.Reason)
		case Failed: // a stop ends so when processes of the host do not
			s.finish(func(operation) bool { return true }, false, t.To, t.Reason)
		case Stopping:
			if !s.Pending() {
				s.finish(func(o operation) bool { return o.op == OpStart }, false, t.To, t.Reason)
			}
		case Stopped:
			if s.state == Stopped && !s.Pending() {
				s.finish(func(o operation) bool { return o.op != OpStop }, false, t.To, t.Reason)
			}
		}
	}
}

// finish ends the operations that are meant.
func (s *step) finish(meant func(operation) bool, ok bool, state State, reason string) {
	if !slices.ContainsFunc(s.ops, meant) {
		return
	}
	var rest []operation
	for _, o := range s.ops {
		if !meant(o) {
			rest = append(rest, o)
			continue
		}
		s.do(Done{ID: o.id, OK: ok, State: state, Reason: reason})
	}
	s.ops = rest
}
