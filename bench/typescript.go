package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	wayTypeScript = "SDK for TypeScript, supervised"
	wayJSONRPC    = "vscode-jsonrpc, bare client"
)

// startFigures are nanoseconds of one round.
type startFigures struct {
	Ready float64 // from the start of a host until it is ready
	Empty float64 // from the start of an empty program to its end
}

// typescriptSection measures a host of the SDK beside a server that is made with
// vscode-jsonrpc, and how long it takes to start.
func typescriptSection(opt options) (*report, error) {
	r := &report{
		title: "An echo of 100 bytes in Node.js",
		head:  []string{"way", "p50", "p99", "p50 / vscode-jsonrpc", strconv.Itoa(inFlight) + " in flight", "/ vscode-jsonrpc"},
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	sdk, module := filepath.Join(root, ".cache/sdk-typescript/dist/cjs/index.js"), filepath.Join(root, ".cache/peers/node_modules/vscode-jsonrpc/lib/node/main.js")
	if _, err := os.Stat(module); errors.Is(err, os.ErrNotExist) {
		r.note("left out: vscode-jsonrpc is not here; ./test peers installs it")
		return r, nil
	}
	build := exec.Command(filepath.Join(root, "sdk/typescript/build"))
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sdk/typescript/build: %w: %s", err, out)
	}
	from := map[string]string{wayTypeScript: sdk, wayJSONRPC: module}
	ways := []string{wayTypeScript, wayJSONRPC}
	all := map[string][]echoFigures{}
	var starts []startFigures
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "typescript: round %d of %d\n", round+1, opt.rounds)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			f, err := hire[echoFigures]("typescript", way, from[way], opt.spell.String())
			if errors.Is(err, peers.ErrMissing) {
				r.note("left out: node is not on this machine")
				return r, nil
			}
			if err != nil {
				return nil, err
			}
			all[way] = append(all[way], f)
		}
		f, err := hire[startFigures]("typescript-start", sdk)
		if err != nil {
			return nil, err
		}
		starts = append(starts, f)
	}
	theirs := all[wayJSONRPC]
	for _, way := range ways {
		fs := all[way]
		r.row(way, micros(measure.Median(column(fs, p50))), micros(measure.Median(column(fs, p99))), times(measure.Ratio(column(fs, p50), column(theirs, p50))),
			perSecond(measure.Median(column(fs, ops))), times(measure.Ratio(column(fs, ops), column(theirs, ops))))
	}
	var ready, empty []float64
	for _, f := range starts {
		ready, empty = append(ready, f.Ready), append(empty, f.Empty)
	}
	r.note("medians of %d rounds in turns, each with a process of its own; the host is acknowledged, as every handler is", opt.rounds)
	r.note("start of a host until it is ready %s, an empty program from start to end %s", millis(measure.Median(ready)), millis(measure.Median(empty)))
	r.targets = []target{
		{
			what: "TypeScript, p50", ours: micros(measure.Median(column(all[wayTypeScript], p50))), peer: wayJSONRPC + " " + micros(measure.Median(column(theirs, p50))),
			figure: measure.Ratio(column(all[wayTypeScript], p50), column(theirs, p50)), limit: 0.8, unit: " ×",
		},
		{
			what: "TypeScript, 64 in flight", ours: perSecond(measure.Median(column(all[wayTypeScript], ops))), peer: wayJSONRPC + " " + perSecond(measure.Median(column(theirs, ops))),
			figure: measure.Ratio(column(all[wayTypeScript], ops), column(theirs, ops)), limit: 1.5, least: true, unit: " ×",
		},
		{
			what: "TypeScript, start to ready", ours: millis(measure.Median(ready)), peer: "empty program " + millis(measure.Median(empty)),
			figure: measure.Ratio(ready, empty), limit: 1.15, unit: " ×",
		},
	}
	return r, nil
}

// typescriptWorker measures one way once: WAY LIBRARY SPELL.
func typescriptWorker(args []string) (f echoFigures, err error) {
	if len(args) != 3 {
		return f, errors.New("want WAY LIBRARY SPELL")
	}
	spell, err := time.ParseDuration(args[2])
	if err != nil {
		return f, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return f, peers.ErrMissing
	}
	dial := peers.VSCodeJSONRPC
	if args[0] == wayTypeScript {
		dial = peers.TypeScript
	}
	a, err := dial(node, args[1])
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return measureCalls(func(int) call { return a.Ask }, spell, true)
}

// starts is how often each is started in one round; the median counts.
const starts = 7

// typescriptStart measures starts: LIBRARY.
func typescriptStart(args []string) (f startFigures, err error) {
	if len(args) != 1 {
		return f, errors.New("want LIBRARY")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return f, peers.ErrMissing
	}
	h := supervisor.HostSpec{Name: "echo", Command: []string{node, "-e", peers.TypeScriptHost, args[0]}, Protocol: native.New(), InheritEnv: []string{"PATH", "HOME"}}
	s, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "echo", Hosts: []supervisor.HostSpec{h}}}})
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer func() { err = errors.Join(err, s.Stop(ctx)) }()
	if err := s.Ready(ctx); err != nil {
		return f, err
	}
	host := s.Hosts()[0]
	var ready, empty []float64
	for range starts {
		if err := host.Stop(ctx); err != nil {
			return f, err
		}
		began := time.Now()
		if err := host.Start(ctx); err != nil {
			return f, err
		}
		ready = append(ready, float64(time.Since(began)))
		began = time.Now()
		if err := exec.CommandContext(ctx, node, "-e", "").Run(); err != nil {
			return f, err
		}
		empty = append(empty, float64(time.Since(began)))
	}
	return startFigures{Ready: measure.Median(ready), Empty: measure.Median(empty)}, nil
}
