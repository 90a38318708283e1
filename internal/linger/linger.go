// Package linger lets a reader wait for a moment with its eyes open.
//
// A thread that sleeps until bytes come has to be woken, and where a processor
// has to be woken with it that takes several times as long as a quick peer needs
// to answer. A reader whose peer is quick therefore looks again and again before
// it sleeps, as a lock spins before it waits. Between two looks it gives way to
// every other goroutine. Looking in vain, or for long again and again, is
// followed by waits without a look, twice as many each time: a peer that is
// slow, or silent, costs next to nothing.
//
// It holds back no bytes, never changes their order, and looks no longer than
// [Patience] at a time. Where there is one processor only it never looks.
package linger

import (
	"runtime"
	"time"
)

const (
	// Patience is for how long one wait looks at most: long enough to see the
	// answer of a quick peer that had to be woken itself.
	Patience = 200 * time.Microsecond
	// Quick is what a wait may take for looking to go on and on. It is about what
	// sleeping and being woken would have cost the processors as well.
	Quick = 50 * time.Microsecond

	// mostVain bounds the waits without a look that follow looks in vain.
	mostVain = 64
	// mostSlow bounds the looks in a row that were worth it, but not quick. A peer
	// that lingers as well, and is quick once both do, looks at least once in that
	// many waits.
	mostSlow = mostVain
	// afterSlow is how many waits go without a look after that.
	afterSlow = 8 * mostSlow
	// mostLooks bounds the looks of one wait, for clocks that stand still while
	// goroutines run; each takes more than a tenth of a microsecond.
	mostLooks = 2000
)

// alone says that nobody can answer while we look.
var alone = runtime.NumCPU() < 2

// State is what one reader has learned of its peer. The zero value is ready; it
// is for one goroutine at a time.
type State struct {
	skip int // waits without a look that are still to come
	vain int // how many there were after the last look in vain; 0 after a quick one
	slow int // looks in a row that something came of, but not quickly
}

// Read reads once: it looks for a while, if that has been worth it lately, and
// waits. look reads what is there without waiting; false says that there is
// nothing that it could return yet, and the wait meets what there is.
func (s *State) Read(look func() (n int, ok bool), wait func() (int, error)) (int, error) {
	if alone {
		return wait()
	}
	if s.skip > 0 {
		s.skip--
		return wait()
	}
	began := time.Now()
	for range mostLooks {
		n, ok := look()
		took := time.Since(began)
		if ok {
			s.came(took)
			return n, nil
		}
		if took >= Patience {
			break
		}
		runtime.Gosched()
	}
	s.slow = 0
	s.vain = min(max(1, s.vain*2), mostVain)
	s.skip = s.vain
	return wait()
}

// came takes in that a look of that length was worth it.
func (s *State) came(took time.Duration) {
	if took <= Quick {
		s.slow, s.vain = 0, 0
		return
	}
	if s.slow++; s.slow >= mostSlow {
		s.slow, s.skip = 0, afterSlow
	}
}
