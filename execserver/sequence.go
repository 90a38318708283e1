package execserver

// How much of what came too early is kept for later. What is over it is
// dropped and read again.
const (
	maxAheadEvents = 256
	maxAheadBytes  = 4 << 20
)

// sequence puts the events of one process in order. It is pure: its methods take
// what arrived, by notification or by a read, and return what may be published.
type sequence struct {
	last   uint64           // the number published last
	ahead  map[uint64]Event // what waits for a lower number
	bytes  int              // of the output in ahead
	over   uint64           // the highest number dropped for want of room; 0 for none
	exited bool             // Exited is published or ahead
	closed bool             // Closed is published: there is nothing after it
}

// push takes an event that arrived by itself and appends what may be published
// now to ready, in order. What was published before, or is known already, is
// ignored.
func (s *sequence) push(e Event, ready []Event) []Event {
	if s.closed || e.Seq <= s.last {
		return ready
	}
	if e.Seq > s.last+1 {
		if _, known := s.ahead[e.Seq]; known {
			return ready
		}
		if len(s.ahead) >= maxAheadEvents || len(s.ahead) > 0 && s.bytes+len(e.Data) > maxAheadBytes {
			s.over = max(s.over, e.Seq)
			return ready
		}
		s.keep(e)
		return ready
	}
	s.note(e)
	return s.flush(append(ready, e))
}

// waits reports whether an event came that cannot be published yet.
func (s *sequence) waits() bool { return !s.closed && (len(s.ahead) > 0 || s.over > s.last) }

// snapshot is the result of a read.
type snapshot struct {
	chunks        []Event // outputs with numbers over the one that was asked after
	next          uint64
	exited        bool
	exitCode      int
	sandboxDenied bool
	closed        bool
}

// size returns how many bytes of output it holds.
func (r *snapshot) size() (n int) {
	for _, e := range r.chunks {
		n += len(e.Data)
	}
	return n
}

// verdict says how to go on after a read.
type verdict uint8

const (
	caughtUp verdict = iota
	readOn           // the read did not hold everything that is known to be there
	lost             // the server no longer has what is missing
)

// absorb takes what a read after s.last returned. A read holds outputs only,
// so the numbers of the exit and of the end are found as those that are left
// over. upTo is the highest number that the read accounts for.
func (s *sequence) absorb(r snapshot) (ready []Event, v verdict, upTo uint64) {
	if s.closed {
		return nil, caughtUp, s.last
	}
	top := s.last
	if r.next > 0 {
		top = max(top, r.next-1)
	}
	lastChunk := uint64(0)
	for _, e := range r.chunks {
		lastChunk = max(lastChunk, e.Seq)
		if e.Seq <= s.last {
			continue
		}
		if _, known := s.ahead[e.Seq]; !known {
			s.keep(e)
		}
	}
	top = max(top, lastChunk)
	// When the last number belongs to an output, the read was cut before the end.
	if r.closed && top > s.last && s.ahead[top].Kind == 0 {
		s.keep(Event{Kind: Closed, Seq: top})
	}
	missing := s.missing(top, 2)
	if r.exited && !s.exited && len(missing) > 0 {
		if len(missing) == 1 {
			s.keep(Event{Kind: Exited, Seq: missing[0], ExitCode: r.exitCode, SandboxDenied: r.sandboxDenied})
		}
		missing = missing[1:]
	}
	if len(missing) > 0 {
		return nil, lost, top
	}
	ready = s.flush(nil)
	if s.over <= s.last {
		s.over = 0
	}
	if s.over > 0 || r.exited && !s.exited || r.closed && !s.closed {
		return ready, readOn, top
	}
	return ready, caughtUp, top
}

// missing returns the first numbers up to top that are neither published nor
// ahead, at most n.
func (s *sequence) missing(top uint64, n int) []uint64 {
	var m []uint64
	for q := s.last + 1; q <= top && len(m) < n; q++ {
		if _, known := s.ahead[q]; !known {
			m = append(m, q)
		}
	}
	return m
}

func (s *sequence) keep(e Event) {
	if s.ahead == nil {
		s.ahead = map[uint64]Event{}
	}
	s.exited = s.exited || e.Kind == Exited
	s.ahead[e.Seq] = e
	s.bytes += len(e.Data)
}

// note records that e is published.
func (s *sequence) note(e Event) {
	s.last = e.Seq
	s.exited = s.exited || e.Kind == Exited
	if e.Kind == Closed {
		s.closed, s.ahead, s.bytes, s.over = true, nil, 0, 0
	}
}

// flush appends to ready what may be published now.
func (s *sequence) flush(ready []Event) []Event {
	for len(s.ahead) > 0 {
		e, ok := s.ahead[s.last+1]
		if !ok {
			return ready
		}
		delete(s.ahead, e.Seq)
		s.bytes -= len(e.Data)
		s.note(e)
		ready = append(ready, e)
	}
	return ready
}

// skipTo gives up what is missing before next and returns what may be published
// then.
func (s *sequence) skipTo(next uint64) []Event {
	for q := range s.ahead {
		if q < next {
			s.bytes -= len(s.ahead[q].Data)
			delete(s.ahead, q)
		}
	}
	s.last = max(s.last, next-1)
	return s.flush(nil)
}
