//go:build !hostsup_posix

package selftest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// attempt is one try to get out. Its functions see different worlds: do runs
// in the confined process, everything else outside.
type attempt struct {
	class Class
	name  string // unique within the class; lower case, words with dashes
	about string // what is tried, for a person

	// change adds to the policy that all attempts have, for what this one is
	// about. May be nil.
	change func(s *stage, p *policy.Policy, l *policy.Limits)
	// prepare sets up what is attacked. It returns missing(…) where this machine
	// does not have what it takes. May be nil.
	prepare func(s *stage) error
	// do is the attempt. nil: as far as it can tell, it worked.
	do func(in *inside) error
	// watch looks from outside while do waits in inside.pause. May be nil.
	watch func(s *stage, r *run1)
	// judge says from outside whether it worked; nil believes do.
	judge func(s *stage, r *run1) finding
	// play, when not nil, takes the place of a start of do: the attempt needs a
	// supervisor of its own.
	play func(ctx context.Context, s *stage, b *box) (finding, error)

	// named: when it gets out and the sandbox has said before, in
	// Confinement.Missing, that it lacks one of these, that is a gap.
	named []string
	// unpromised: when it gets out, that is a gap for this reason, and
	// docs/security.md lists it as not promised.
	unpromised string
	// shown: policies with Ordinary let it be seen, and it is not tried with them.
	shown bool
	// refused are the levels at which the policy of this attempt cannot be
	// enforced, so that its start has to fail.
	refused []policy.Level
	// alone: nothing else runs beside it, because it measures or fills up.
	alone bool
	// wait bounds do; 0 is tryFor.
	wait time.Duration
}

func (a *attempt) id() string { return string(a.class) + "/" + a.name }

func (a *attempt) witness() string {
	if a.judge == nil && a.play == nil {
		return "inside"
	}
	return "outside"
}

// finding is a judge's word on one run.
type finding struct {
	out      bool   // it got out
	evidence string // what was seen
	broken   bool   // nothing can be said
}

func escaped(format string, args ...any) finding {
	return finding{out: true, evidence: fmt.Sprintf(format, args...)}
}

func held(format string, args ...any) finding {
	return finding{evidence: fmt.Sprintf(format, args...)}
}

func unclear(format string, args ...any) finding {
	return finding{broken: true, evidence: fmt.Sprintf(format, args...)}
}

// failure is the panic by which check and must end do or prepare.
type failure struct{ error }

// tried calls do or prepare and returns its error, also one by check or must.
func tried(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stopped, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = stopped.error
		}
	}()
	return f()
}

// check ends the do or the prepare that calls it with err, unless that is nil.
// It must not be called on another goroutine, nor by watch, judge and play.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is check for a function that returns a value too.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// must2 is must for two values.
func must2[A, B any](a A, b B, err error) (A, B) {
	check(err)
	return a, b
}

// missing is what prepare returns where the machine lacks something.
type missing string

func (m missing) Error() string { return string(m) }

// oneLine makes text fit for a cell.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	const most = 160
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
