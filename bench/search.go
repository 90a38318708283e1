package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

const (
	searchedFiles = 10_000
	foundFiles    = searchedFiles / 100 // have the text
	searchTurns   = 15
)

// searchFigures are the medians of one round, in nanoseconds, of a host's extension and of bare
// ripgrep.
type searchFigures struct{ Files, Text [2]float64 }

// searchSection has an extension find files and text, beside ripgrep alone.
func searchSection(opt options) (*report, error) {
	r := &report{
		title: fmt.Sprintf("An extension searches %d files", searchedFiles),
		head:  []string{"way", "all files", "ratio", fmt.Sprintf("text in %d files", foundFiles), "ratio"},
	}
	build, err := vscodeBuild(r)
	if build == "" {
		return r, err
	}
	var files, text [2][]float64
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "search: round %d of %d\n", round+1, opt.rounds)
		f, err := hire[searchFigures]("search", build)
		if errors.Is(err, peers.ErrMissing) {
			r.note("left out: node or ripgrep is not on this machine")
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range 2 {
			files[i], text[i] = append(files[i], f.Files[i]), append(text[i], f.Text[i])
		}
	}
	const bare = "bare ripgrep"
	for i, way := range []string{wayOurs, bare} {
		r.row(way, micros(measure.Median(files[i])), times(measure.Ratio(files[i], files[1])), micros(measure.Median(text[i])), times(measure.Ratio(text[i], text[1])))
	}
	r.note("medians of %d rounds of %d turns; with hostsup a command of an extension calls findFiles and findTextInFiles, and counts", opt.rounds, searchTurns)
	limit := func(what string, of [2][]float64) target {
		return target{
			what: "search, " + what, ours: micros(measure.Median(of[0])), peer: bare + " " + micros(measure.Median(of[1])),
			figure: measure.Ratio(of[0], of[1]), limit: 1.5, unit: " ×",
		}
	}
	r.targets = []target{limit("all files", files), limit("text", text)}
	return r, nil
}

// searchWorker measures both ways once: BUILD.
func searchWorker(args []string) (f searchFigures, err error) {
	if len(args) != 1 {
		return f, errors.New("want BUILD")
	}
	dir, err := os.MkdirTemp("", "bench-search")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := peers.WriteTree(tree, searchedFiles); err != nil {
		return f, err
	}
	bare, err := peers.FindRipgrep(tree)
	if err != nil {
		return f, err
	}
	v := peers.VSCodeHost{Root: args[0], Extensions: filepath.Join(dir, "extensions"), State: filepath.Join(dir, "state")}
	if v.Node, err = node(); err != nil {
		return f, err
	}
	ours, err := peers.Searches(v, tree)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	ways := [2]peers.Searcher{ours, bare}
	if f.Files, err = searches(ways, searchedFiles, peers.Searcher.Files); err != nil {
		return f, err
	}
	f.Text, err = searches(ways, foundFiles, peers.Searcher.Text)
	return f, err
}

// searches returns the median time of both ways, which take turns.
func searches(ways [2]peers.Searcher, want int, search func(peers.Searcher, context.Context) (int, error)) (medians [2]float64, err error) {
	var took [2][]float64
	for turn := range searchTurns + 2 {
		for i := range ways {
			i = (i + turn) % len(ways)
			start := time.Now()
			n, err := search(ways[i], context.Background())
			if err != nil {
				return medians, err
			}
			if n != want {
				return medians, fmt.Errorf("way %d has found %d, %d expected", i, n, want)
			}
			if turn >= 2 { // those before warm the ways up
				took[i] = append(took[i], float64(time.Since(start)))
			}
		}
	}
	for i := range took {
		medians[i] = measure.Median(took[i])
	}
	return medians, nil
}
