package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

// languageSpell is how long each way is measured in a round.
const languageSpell = 3 * time.Second

// languageFigures are the medians of one round, in nanoseconds, of a question by position and of the
// bare call.
type languageFigures struct{ Took [2]float64 }

// languageSection asks for what is at a position, beside a call of the provider.
func languageSection(opt options) (*report, error) {
	r := &report{title: "A language feature of an extension", head: []string{"way", "hover", "ratio"}}
	build, err := vscodeBuild(r)
	if build == "" {
		return r, err
	}
	var took [2][]float64
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "language: round %d of %d\n", round+1, opt.rounds)
		f, err := hire[languageFigures]("language", build)
		if errors.Is(err, peers.ErrMissing) {
			r.note("left out: node is not on this machine")
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range took {
			took[i] = append(took[i], f.Took[i])
		}
	}
	const bare = "bare call of the provider"
	for i, way := range []string{"by document and position", bare} {
		r.row(way, micros(measure.Median(took[i])), times(measure.Ratio(took[i], took[1])))
	}
	r.note("medians of %d rounds of %v each, one question at a time; the document is open, and both give up what an answer keeps in the host", opt.rounds, languageSpell)
	r.targets = []target{{
		what: "language feature", ours: micros(measure.Median(took[0])), peer: bare + " " + micros(measure.Median(took[1])),
		figure: measure.Ratio(took[0], took[1]), limit: 1.2, unit: " ×",
	}}
	return r, nil
}

// languageWorker measures both ways once: BUILD.
func languageWorker(args []string) (f languageFigures, err error) {
	if len(args) != 1 {
		return f, errors.New("want BUILD")
	}
	dir, err := os.MkdirTemp("", "bench-language")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	v := peers.VSCodeHost{Root: args[0], Extensions: filepath.Join(dir, "extensions"), State: filepath.Join(dir, "state")}
	if v.Node, err = node(); err != nil {
		return f, err
	}
	h, err := peers.NewHovers(v, filepath.Join(dir, "folder"))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	took, err := inTurns([]peers.Asker{h, h.Bare()}, languageSpell)
	if err != nil {
		return f, err
	}
	for i := range took {
		f.Took[i] = measure.Median(took[i])
	}
	return f, nil
}
