package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

// pythonFigures are those of one round of a way.
type pythonFigures struct {
	Echo  echoFigures
	Start float64 // nanoseconds until a host is ready; of the SDK only
	Empty float64 // nanoseconds of a program that imports asyncio
}

const pythonStarts = 9 // of one round

func pythonSection(opt options) (*report, error) {
	r := &report{
		title: "A host in Python, 100 bytes",
		head:  []string{"way", "p50", "p99", strconv.Itoa(inFlight) + " in flight", "in flight / pynvim"},
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	ways := []string{peers.PythonSDK, peers.PythonPynvim}
	all := map[string][]pythonFigures{}
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "python: round %d of %d\n", round+1, opt.rounds)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			f, err := hire[pythonFigures]("python", way, root, opt.spell.String())
			if errors.Is(err, peers.ErrMissing) {
				r.note("left out: python3-msgpack or python3-pynvim is not on this machine")
				return r, nil
			}
			if err != nil {
				return nil, err
			}
			all[way] = append(all[way], f)
		}
	}
	of := func(way string, get func(echoFigures) float64) (out []float64) {
		for _, f := range all[way] {
			out = append(out, get(f.Echo))
		}
		return out
	}
	plain := of(peers.PythonPynvim, ops)
	for _, way := range ways {
		r.row(way, micros(measure.Median(of(way, p50))), micros(measure.Median(of(way, p99))),
			perSecond(measure.Median(of(way, ops))), times(measure.Ratio(of(way, ops), plain)))
	}
	var started, empty []float64
	for _, f := range all[peers.PythonSDK] {
		started, empty = append(started, f.Start), append(empty, f.Empty)
	}
	r.note("medians of %d rounds in turns, both under hostsup by the same calls, with Debian's Python", opt.rounds)
	r.note("from its start until the host is ready: %s; a program that imports asyncio: %s",
		micros(measure.Median(started)), micros(measure.Median(empty)))
	ours := of(peers.PythonSDK, ops)
	r.targets = []target{{
		what: "python, 64 in flight", ours: perSecond(measure.Median(ours)), peer: "pynvim " + perSecond(measure.Median(plain)),
		figure: measure.Ratio(ours, plain), limit: 1.5, least: true, unit: " ×",
	}, {
		what: "python, start to ready", ours: micros(measure.Median(started)), peer: "import asyncio " + micros(measure.Median(empty)),
		figure: measure.Ratio(started, empty), limit: 1.15, unit: " ×",
	}}
	return r, nil
}

// pythonWorker measures one way.
func pythonWorker(args []string) (f pythonFigures, err error) {
	if len(args) != 3 {
		return f, errors.New("want WAY ROOT SPELL")
	}
	spell, err := time.ParseDuration(args[2])
	if err != nil {
		return f, err
	}
	c, err := peers.PythonHost(args[0], args[1])
	if err != nil {
		return f, err
	}
	f.Echo, err = measureCalls(func(worker int) call {
		one := caller{c: c, payload: newPayload(worker)}
		return one.call
	}, spell, true)
	if err := errors.Join(err, c.Close()); err != nil || args[0] != peers.PythonSDK {
		return f, err
	}
	var started, empty []float64
	for range pythonStarts {
		s, e, err := peers.PythonStart(args[1])
		if err != nil {
			return f, err
		}
		started, empty = append(started, float64(s)), append(empty, float64(e))
	}
	f.Start, f.Empty = measure.Median(started), measure.Median(empty)
	return f, nil
}
