//go:build !hostsup_posix

package selftest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// attempt is one try to get out: a row in the table of its family. Its functions see different worlds: do and first
// run in the confined process, all others outside.
type attempt struct {
	class Class
	name  string // unique within the class; lower case, words with dashes
	about string // what is tried, for a person

	// change adds to the policy that all attempts have, for what this one is about. May be nil.
	change func(s *stage, p *policy.Policy, l *policy.Limits)
	// prepare sets up what is attacked, and ends by needs where this machine does not have what it takes. May be nil.
	prepare func(s *stage)
	// first, when not nil, runs in a life of its own before the one that do runs in. It must return nil.
	first func(in *inside) error
	// do is the attempt. nil: as far as it can tell, it worked.
	do func(in *inside) error
	// watch looks from outside while do waits in inside.pause, and keeps what it sees in stage.seen. May be nil.
	watch func(s *stage, r *trial)
	// look, when not nil, describes something outside. It escaped when that is another after do than it was before.
	look func(s *stage) string
	// judge says from outside whether it worked. Without judge and look, do is believed.
	judge func(s *stage, r *trial) finding
	// play, when not nil, takes the place of a start of do: the attempt needs a supervisor of its own.
	play func(ctx context.Context, at *attempt, s *stage, b *box) finding

	// named: an escape is a gap when the sandbox has said before, in Confinement.Missing, that it lacks one of these.
	named []string
	// unpromised: an escape is a gap for this reason, and docs/security.md lists it as not promised.
	unpromised string
	// shown: policies with Ordinary let it be seen, and it is not tried with them.
	shown bool
	// refused are the levels at which a start with the attempt's policy must fail, because the level cannot enforce it.
	refused []policy.Level
	// refusalHolds: a policy that is refused as invalid, at any level, has held.
	refusalHolds bool
	// alone: nothing else runs beside it, because it measures or fills up.
	alone bool
}

// family makes the attempts of a class from the rows of a table. What a row leaves out it takes from common.
func family(class Class, common attempt, rows []attempt) []*attempt {
	list := make([]*attempt, len(rows))
	for i := range rows {
		at := &rows[i]
		list[i] = at
		at.class = class
		if at.change == nil {
			at.change = common.change
		}
		if at.prepare == nil {
			at.prepare = common.prepare
		}
		if at.do == nil {
			at.do = common.do
		}
		if at.watch == nil {
			at.watch = common.watch
		}
		if at.look == nil && at.judge == nil {
			at.look, at.judge = common.look, common.judge
		}
		if at.named == nil {
			at.named = common.named
		}
		if at.refused == nil {
			at.refused = common.refused
		}
		at.alone = at.alone || common.alone
		at.refusalHolds = at.refusalHolds || common.refusalHolds
	}
	return list
}

func (a *attempt) id() string { return string(a.class) + "/" + a.name }

func (a *attempt) witness() string {
	if a.look == nil && a.judge == nil && a.play == nil {
		return "inside"
	}
	return "outside"
}

// finding is what a judge finds in one run.
type finding struct {
	out      bool   // it got out
	evidence string // what was seen
	broken   bool   // nothing can be said

	absent    bool // this machine lacks what it takes, as evidence says
	unstarted bool // the sandbox did not make the start
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

// failure is the panic by which check and must end what tried calls.
type failure struct{ error }

// tried calls f and returns its error, also one by check or must.
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

// check ends the do, prepare, watch or play that calls it with err, unless that is nil. It must not be called on
// another goroutine, nor by look and judge.
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

// missing is the error of a prepare where the machine lacks something.
type missing string

func (m missing) Error() string { return string(m) }

// needs ends prepare unless this machine has what it takes.
func needs(has bool, what string) {
	if !has {
		check(missing(what))
	}
}

// need is needs for something that can fail in more than one way.
func need(what string, err error) {
	if err != nil {
		check(missing(what + ": " + err.Error()))
	}
}

// needPath is a prepare for attempts on a path that only some machines have.
func needPath(path string) func(*stage) {
	return func(*stage) {
		_, err := os.Stat(path)
		needs(err == nil, path)
	}
}

// oneLine makes text fit for a cell.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	const most = 160
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// attempts are all tries to get out, by class.
func attempts() []*attempt {
	return slices.Concat(
		fileReads(), fileWrites(), fileDenied(), handedOver(), sent(), replaced(), keptImage(),
		ownCode(), devices(), groups(), network(), others(),
		privileges(), mappedSetUID(), calls(), terminals(), leaks(), exhaustion(), outliving(),
	)
}
