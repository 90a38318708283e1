// Package busypoll reads from a stream and busy-polls for a short time before it
// blocks.
//
// A thread that blocks must be woken when bytes arrive. Where an idle processor
// must be woken too, that takes several times as long as a fast peer needs to
// answer. A reader of a fast peer therefore polls for a while before it blocks, as
// a lock spins. Between two polls it yields to all other goroutines. After polling
// in vain, or after many slow successes in a row, the reader blocks at once for a
// number of reads, which doubles each time: a slow or silent peer costs almost
// nothing.
//
// The package holds back no bytes and never changes their order. It polls for at
// most [MaxWait] at a time, and never where there is only one processor.
package busypoll

import (
	"runtime"
	"time"
)

const (
	// MaxWait bounds the polling of one read: long enough to see the answer of a
	// fast peer that had to be woken itself.
	MaxWait = 200 * time.Microsecond
	// Quick is the longest wait that still counts as fast. It is about the
	// processor time that blocking and waking up would have cost.
	Quick = 50 * time.Microsecond

	// maxSkip bounds the reads without polling that follow polling in vain.
	maxSkip = 64
	// maxSlow bounds the slow successes in a row. A peer that busy-polls as well, and
	// is fast once both sides do, polls at least once in that many reads.
	maxSlow = maxSkip
	// skipAfterSlow is the number of reads without polling after maxSlow of them.
	skipAfterSlow = 8 * maxSlow
	// maxPolls bounds the polls of one read, for clocks that stand still while
	// goroutines run; each takes more than a tenth of a microsecond.
	maxPolls = 2000
)

// oneProcessor means that the peer cannot run while this process polls.
var oneProcessor = runtime.NumCPU() < 2

// State is what one reader has learned of its peer. The zero value is ready. A
// State must be used by one goroutine at a time.
type State struct {
	skip    int // reads left that do not poll
	skipped int // reads without polling after the last poll in vain; 0 after a quick success
	slow    int // slow successes in a row
}

// Read reads once: it polls for a while if that has paid off lately, and then
// blocks. poll reads without blocking; it returns false for no data, an end and an
// error, and block then returns those.
func (s *State) Read(poll func() (n int, ok bool), block func() (int, error)) (int, error) {
	if oneProcessor {
		return block()
	}
	if s.skip > 0 {
		s.skip--
		return block()
	}
	began := time.Now()
	for range maxPolls {
		n, ok := poll()
		took := time.Since(began)
		if ok {
			s.succeeded(took)
			return n, nil
		}
		if took >= MaxWait {
			break
		}
		runtime.Gosched()
	}
	s.slow = 0
	s.skipped = min(max(1, s.skipped*2), maxSkip)
	s.skip = s.skipped
	return block()
}

// succeeded records that polling brought bytes after the time took.
func (s *State) succeeded(took time.Duration) {
	if took <= Quick {
		s.slow, s.skipped = 0, 0
		return
	}
	if s.slow++; s.slow >= maxSlow {
		s.slow, s.skip = 0, skipAfterSlow
	}
}
