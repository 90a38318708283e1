package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/bench/peers/ways"
)

const startsPerRound = 40

func confineSection(opt options) (_ *report, err error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("level full takes root: %w", peers.ErrMissing)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		return nil, fmt.Errorf("bwrap: %w", peers.ErrMissing)
	}
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "confined")
	build := exec.Command("go", "build", "-o", program, "github.com/hostsup/hostsup/bench/confined")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped; with cgo a helper is slower to start
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the program that confines: %w: %s", err, out)
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	hostsup := filepath.Join(dir, "hostsup")
	if err := buildHostsup(root, hostsup); err != nil {
		return nil, err
	}
	order := []string{ways.Plain, ways.Landlock, ways.Full, ways.Run, ways.First, ways.Version, ways.Nothing, ways.Bwrap}
	rounds := map[string][]float64{} // the median of each
	all := ways.Figures{}
	for range opt.rounds {
		cmd := exec.Command(program, strconv.Itoa(startsPerRound), hostsup)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		var f ways.Figures
		if err := json.Unmarshal(out, &f); err != nil {
			return nil, err
		}
		for _, w := range order {
			rounds[w] = append(rounds[w], measure.Median(f[w]))
			all[w] = append(all[w], f[w]...)
		}
	}
	r := &report{
		title: "/bin/true confined, from its start to its end",
		head:  []string{"who", "p10", "median", "p90", "/ bwrap", "p10 / bwrap", "/ unconfined"},
	}
	for _, w := range order {
		q := func(w string, p float64) float64 { return measure.Quantile(all[w], p) }
		r.row(w, micros(q(w, 0.1)), micros(q(w, 0.5)), micros(q(w, 0.9)),
			times(measure.Ratio(rounds[w], rounds[ways.Bwrap])), times(q(w, 0.1)/q(ways.Bwrap, 0.1)), times(measure.Ratio(rounds[w], rounds[ways.Plain])))
	}
	r.note("%d starts each, in turns; the profile strict, and bwrap with the same grants, namespaces and user, which has no system call filter and no Landlock; by a program that has nothing but package sandbox in it, but for sandbox run, which is the command as a shell starts it; the first start of such a program, and what both programs take to do nothing, bound what sandbox run can come to", opt.rounds*startsPerRound)
	promise := func(what, peer string, ours, theirs []float64, limit float64) target {
		return target{
			what: what, ours: micros(measure.Median(ours)), peer: peer + " " + micros(measure.Median(theirs)),
			figure: measure.Ratio(ours, theirs), limit: limit, unit: " ×",
		}
	}
	r.targets = []target{
		promise("start at level full", ways.Bwrap, rounds[ways.Full], rounds[ways.Bwrap], 1.1),
		promise("sandbox run --profile strict", ways.Bwrap, rounds[ways.Run], rounds[ways.Bwrap], 1.3),
		promise("start at level landlock", ways.Plain, rounds[ways.Landlock], rounds[ways.Plain], 1.6),
	}
	return r, nil
}
