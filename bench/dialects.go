package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

// The two ways to ask a program.
const (
	wayOurs = "hostsup"
	wayBare = "bare client"
)

// neovimSection has Neovim do sums, under hostsup and asked directly.
func neovimSection(opt options) (*report, error) {
	r := &report{
		title: `nvim_eval("6*7")`,
		head:  []string{"way", "p50", "p99", strconv.Itoa(inFlight) + " in flight", "in flight / bare"},
	}
	ways := []string{wayOurs, wayBare}
	all := map[string][]echoFigures{}
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "neovim: round %d of %d\n", round+1, opt.rounds)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			f, err := hire[echoFigures]("neovim", way, opt.spell.String())
			if errors.Is(err, peers.ErrMissing) {
				r.note("left out: neovim is not on this machine")
				return r, nil
			}
			if err != nil {
				return nil, err
			}
			all[way] = append(all[way], f)
		}
	}
	plain := column(all[wayBare], ops)
	for _, way := range ways {
		fs := all[way]
		r.row(way, micros(measure.Median(column(fs, p50))), micros(measure.Median(column(fs, p99))),
			perSecond(measure.Median(column(fs, ops))), times(measure.Ratio(column(fs, ops), plain)))
	}
	r.note("medians of %d rounds in turns, each with a Neovim of its own, on its standard streams", opt.rounds)
	ours := column(all[wayOurs], ops)
	r.targets = []target{{
		what: "neovim, 64 in flight", ours: perSecond(measure.Median(ours)), peer: wayBare + " " + perSecond(measure.Median(plain)),
		figure: measure.Ratio(ours, plain), limit: 0.8, least: true, unit: " ×",
	}}
	return r, nil
}

// neovimWorker measures one way once: WAY SPELL.
func neovimWorker(args []string) (f echoFigures, err error) {
	if len(args) != 2 {
		return f, errors.New("want WAY SPELL")
	}
	spell, err := time.ParseDuration(args[1])
	if err != nil {
		return f, err
	}
	a, err := peers.Neovim(args[0] == wayOurs)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return measureCalls(func(int) call { return a.Ask }, spell, true)
}

// jsonProgram is a program that JSON-RPC is spoken with.
type jsonProgram struct {
	framing string
	program string // of npm
	args    []string
	ask     string // in words
	open    func(argv []string, supervised bool) (peers.Asker, error)
}

func jsonPrograms() []jsonProgram {
	return []jsonProgram{
		{"headers", "vscode-json-language-server", []string{"--stdio"}, "a method it does not have", peers.LanguageServer},
		{"lines", "mcp-server-everything", []string{"stdio"}, "ping", peers.MCPServer},
	}
}

// latencyFigures are nanoseconds, p50, of one request at a time.
type latencyFigures struct{ Ours, Bare float64 }

const (
	jsonTurn  = 50 // requests before the other way takes its turn
	jsonWarms = 40 // turns before the figures of one round
)

// jsonrpcSection asks servers of other people one thing at a time.
func jsonrpcSection(opt options) (*report, error) {
	r := &report{
		title: "JSON-RPC, one request at a time",
		head:  []string{"framing", "server", "request", "hostsup, p50", "bare client, p50", "added"},
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	all := map[string][]latencyFigures{}
	programs := jsonPrograms()
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "jsonrpc: round %d of %d\n", round+1, opt.rounds)
		for i := range programs {
			p := programs[(i+round)%len(programs)]
			path, err := npmProgram(root, p.program)
			if errors.Is(err, peers.ErrMissing) {
				if round == 0 {
					r.note("left out: %v", err)
				}
				continue
			}
			if err != nil {
				return nil, err
			}
			f, err := hire[latencyFigures]("jsonrpc", p.framing, path, opt.spell.String())
			if err != nil {
				return nil, err
			}
			all[p.framing] = append(all[p.framing], f)
		}
	}
	for _, p := range programs {
		fs := all[p.framing]
		if len(fs) == 0 {
			continue
		}
		var ours, plain, added []float64
		for _, f := range fs {
			ours, plain, added = append(ours, f.Ours), append(plain, f.Bare), append(added, f.Ours-f.Bare)
		}
		r.row(p.framing, p.program, p.ask, micros(measure.Median(ours)), micros(measure.Median(plain)), micros(measure.Median(added)))
		r.targets = append(r.targets, jsonTarget(p.framing, ours, plain, added))
	}
	r.note("medians of %d rounds; in each both ways have a server of their own and take turns of %d requests", opt.rounds, jsonTurn)
	r.note("the bare client is a table of channels and a read loop, with encoding/json")
	return r, nil
}

func jsonTarget(framing string, ours, plain, added []float64) target {
	return target{
		what: "jsonrpc-" + framing + ", added, p50", ours: micros(measure.Median(ours)), peer: wayBare + " " + micros(measure.Median(plain)),
		figure: measure.Median(added) / 1e3, limit: 60, unit: " µs",
	}
}

// jsonrpcWorker measures one server both ways once: FRAMING PROGRAM SPELL.
func jsonrpcWorker(args []string) (f latencyFigures, err error) {
	if len(args) != 3 {
		return f, errors.New("want FRAMING PROGRAM SPELL")
	}
	spell, err := time.ParseDuration(args[2])
	if err != nil {
		return f, err
	}
	at := slices.IndexFunc(jsonPrograms(), func(p jsonProgram) bool { return p.framing == args[0] })
	if at < 0 {
		return f, fmt.Errorf("no framing %q", args[0])
	}
	p := jsonPrograms()[at]
	argv := append([]string{args[1]}, p.args...)
	var ways [2]peers.Asker
	for i := range ways {
		if ways[i], err = p.open(argv, i == 0); err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, ways[i].Close()) }()
	}
	took, err := inTurns(ways[:], spell)
	if err != nil {
		return f, err
	}
	return latencyFigures{Ours: measure.Quantile(took[0], 0.5), Bare: measure.Quantile(took[1], 0.5)}, nil
}

// inTurns asks each for that long and returns how long each request took, in
// nanoseconds.
func inTurns(ways []peers.Asker, spell time.Duration) ([][]float64, error) {
	ctx := context.Background()
	took := make([][]float64, len(ways))
	var end time.Time
	for turn := 0; turn <= jsonWarms || time.Now().Before(end); turn++ {
		if turn == jsonWarms {
			end = time.Now().Add(time.Duration(len(ways)) * spell)
		}
		for i := range ways {
			i = (i + turn) % len(ways)
			for range jsonTurn {
				start := time.Now()
				if err := ways[i].Ask(ctx); err != nil {
					return nil, err
				}
				if d := float64(time.Since(start)); turn >= jsonWarms {
					took[i] = append(took[i], d)
				}
			}
		}
	}
	return took, nil
}

// npmProgram is a program that ./test peers has installed.
func npmProgram(root, name string) (string, error) {
	path := filepath.Join(root, ".cache/peers/node_modules/.bin", name)
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s, which ./test peers installs: %w", name, peers.ErrMissing)
	}
	return path, err
}
