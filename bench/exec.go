package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

// Transports of exec servers.
const (
	execWeb   = "ws://127.0.0.1:0"
	execStdio = "stdio"
)

// execSection holds the exec server against the one whose protocol it speaks.
func execSection(opt options) (_ *report, err error) {
	r := &report{
		title: "An exec server, beside Codex's",
		head:  []string{"server", "ready", "idle", "after a session", "status, p50", "/bin/true, p50", "16 in flight", "256 MiB of output", "memory meanwhile"},
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	theirs, err := codexBinary(root)
	if errors.Is(err, peers.ErrMissing) {
		r.note("left out: %v", err)
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ours := filepath.Join(dir, "hostsup")
	if err := buildHostsup(root, ours); err != nil {
		return nil, err
	}

	all := map[contender][]execFigures{}
	order := []contender{{"hostsup", "ws"}, {"codex", "ws"}, {"hostsup", execStdio}, {"codex", execStdio}}
	rounds := min(opt.rounds, 5)
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "exec: round %d of %d\n", round+1, rounds)
		for i := range order {
			c := order[(i+round)%len(order)]
			binary, listen := ours, execStdio
			if c.who == "codex" {
				binary = theirs
			}
			if c.over == "ws" {
				listen = execWeb
			}
			f, err := hire[execFigures]("exec", binary, listen)
			if err != nil {
				return nil, err
			}
			all[c] = append(all[c], f)
		}
	}
	for _, c := range order {
		fs := all[c]
		m := func(get func(execFigures) float64) float64 { return measure.Median(execColumn(fs, get)) }
		r.row(c.who+" over "+c.over, millis(m(execReady)), mib(m(execIdle)), mib(m(execAfter)), micros(m(execStatus)),
			millis(m(execTrue)), perSecond(m(execRate)), megabytes(m(execOutput)), mib(m(execPeak)))
	}
	r.note("medians of %d rounds in turns, each with a server of its own; the client is the same for all, a plain one in this program that looks for words in what it gets; while it asks for the state it does not sleep, which would be measured as well", rounds)
	r.note("from the request to the notification of the exit; %d commands a round one at a time, %d with %d in flight; memory is resident, of the server and what it starts for itself", execTrues, execFlood, execAtOnce)
	r.targets = execTargets(all)
	return r, nil
}

// contender is a server over a transport.
type contender struct{ who, over string }

// execTargets are the promises.
func execTargets(all map[contender][]execFigures) []target {
	ourWeb, ourStdio := contender{"hostsup", "ws"}, contender{"hostsup", execStdio}
	theirWeb, theirStdio := contender{"codex", "ws"}, contender{"codex", execStdio}
	var out []target
	for _, p := range []struct {
		what         string
		ours, theirs contender
		get          func(execFigures) float64
		show         func(float64) string
		limit        float64
		least        bool
	}{
		{"exec: /bin/true over ws", ourWeb, theirWeb, execTrue, millis, 0.1, false},
		{"exec: /bin/true over ws", ourWeb, theirStdio, execTrue, millis, 0.6, false},
		{"exec: /bin/true over stdio", ourStdio, theirStdio, execTrue, millis, 0.6, false},
		{"exec: 16 in flight", ourWeb, theirWeb, execRate, perSecond, 3, true},
		{"exec: 256 MiB of output", ourWeb, theirWeb, execOutput, megabytes, 3, true},
		{"exec: memory meanwhile", ourWeb, theirWeb, execPeak, mib, 0.5, false},
		{"exec: environment/status, p50", ourWeb, theirWeb, execStatus, micros, 0.7, false},
		{"exec: environment/status, p50", ourStdio, theirStdio, execStatus, micros, 0.7, false},
		{"exec: memory when started", ourWeb, theirWeb, execIdle, mib, 0.5, false},
		{"exec: memory when started", ourStdio, theirStdio, execIdle, mib, 0.5, false},
		{"exec: memory after a session", ourWeb, theirWeb, execAfter, mib, 0.5, false},
		{"exec: start to ready", ourWeb, theirWeb, execReady, millis, 0.8, false},
		{"exec: start to ready", ourStdio, theirStdio, execReady, millis, 0.8, false},
	} {
		ours, theirs := execColumn(all[p.ours], p.get), execColumn(all[p.theirs], p.get)
		out = append(out, target{
			what: p.what, ours: p.show(measure.Median(ours)), peer: "codex over " + p.theirs.over + " " + p.show(measure.Median(theirs)),
			figure: measure.Ratio(ours, theirs), limit: p.limit, least: p.least, unit: " ×",
		})
	}
	return out
}

func execReady(f execFigures) float64  { return f.Ready }
func execIdle(f execFigures) float64   { return f.Idle }
func execStatus(f execFigures) float64 { return f.Status }
func execTrue(f execFigures) float64   { return f.True }
func execAfter(f execFigures) float64  { return f.After }
func execRate(f execFigures) float64   { return f.Rate }
func execOutput(f execFigures) float64 { return f.Output }
func execPeak(f execFigures) float64   { return f.Peak }

func execColumn(fs []execFigures, get func(execFigures) float64) []float64 {
	out := make([]float64, len(fs))
	for i, f := range fs {
		if out[i] = get(f); out[i] == 0 {
			out[i] = math.NaN()
		}
	}
	return out
}

// mib renders bytes of memory.
func mib(bytes float64) string { return unless(bytes, "%.1f MiB", bytes/(1<<20)) }

// megabytes renders bytes a second.
func megabytes(rate float64) string { return unless(rate, "%.0f MB/s", rate/1e6) }

// moduleRoot is the folder of the module that is measured.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/hostsup/hostsup").Output()
	if err != nil {
		return "", fmt.Errorf("where is the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// buildHostsup builds the program as it is shipped.
func buildHostsup(root, path string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/hostsup")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build hostsup: %w: %s", err, out)
	}
	return nil
}

// codexBinary is what HOSTSUP_CODEX names, or what ./test peers has installed.
func codexBinary(root string) (string, error) {
	if path := os.Getenv("HOSTSUP_CODEX"); path != "" {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(root, ".cache/peers/node_modules/@openai/codex-linux-*/vendor/*/bin/codex"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("codex, which ./test peers installs: %w", peers.ErrMissing)
	}
	return found[0], nil
}
