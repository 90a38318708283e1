package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
)

const (
	wayDriver = "bare driver"

	pipelineWindow = 1024   // calls in flight
	pipelineCalls  = 20_000 // of one turn
	commandTurn    = 50     // calls of one turn, one at a time
	activations    = 40     // extensions of a host for that
	manifests      = 500
)

// vscodeFigures are those of one round: of hostsup and of the bare driver.
type vscodeFigures struct {
	Round    [2]float64 // nanoseconds, p50 of one call at a time
	Ops      [2]float64 // calls a second, pipelined
	Activate [2]float64 // nanoseconds, median
	Scan     float64    // nanoseconds, of all manifests
}

// vscodeSection has the real extension host run a command, and scans manifests.
func vscodeSection(opt options) (*report, error) {
	r := &report{
		title: "VS Code's extension host, one command",
		head:  []string{"way", "p50", "ratio", fmt.Sprintf("pipelined, %d in flight", pipelineWindow), "ratio", "activation"},
	}
	build, err := vscodeBuild(r)
	if build == "" {
		return r, err
	}
	var all []vscodeFigures
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "vscode: round %d of %d\n", round+1, opt.rounds)
		f, err := hire[vscodeFigures]("vscode", build, opt.spell.String())
		if errors.Is(err, peers.ErrMissing) {
			r.note("left out: node is not on this machine")
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	of := func(get func(vscodeFigures) float64) (out []float64) {
		for _, f := range all {
			out = append(out, get(f))
		}
		return out
	}
	var round, ops, active [2][]float64
	for i := range 2 {
		round[i] = of(func(f vscodeFigures) float64 { return f.Round[i] })
		ops[i] = of(func(f vscodeFigures) float64 { return f.Ops[i] })
		active[i] = of(func(f vscodeFigures) float64 { return f.Activate[i] })
	}
	for i, way := range []string{wayOurs, wayDriver} {
		r.row(way, micros(measure.Median(round[i])), times(measure.Ratio(round[i], round[1])),
			perSecond(measure.Median(ops[i])), times(measure.Ratio(ops[i], ops[1])), micros(measure.Median(active[i])))
	}
	scan := measure.Median(of(func(f vscodeFigures) float64 { return f.Scan }))
	added := measure.Median(of(func(f vscodeFigures) float64 { return f.Activate[0] - f.Activate[1] }))
	r.note("medians of %d rounds; in each both ways have a host of their own and take turns", opt.rounds)
	r.note("%d manifests read, checked and resolved in %s", manifests, micros(scan))
	r.note("the bare driver has a table of channels, a read loop and a write loop; it keeps nothing for a reconnection and watches nothing")
	r.targets = []target{
		{
			what: "vscode, round trip, p50", ours: micros(measure.Median(round[0])), peer: wayDriver + " " + micros(measure.Median(round[1])),
			figure: measure.Ratio(round[0], round[1]), limit: 1.1, unit: " ×",
		},
		{
			what: "vscode, pipelined", ours: perSecond(measure.Median(ops[0])), peer: wayDriver + " " + perSecond(measure.Median(ops[1])),
			figure: measure.Ratio(ops[0], ops[1]), limit: 0.8, least: true, unit: " ×",
		},
		{
			what: "vscode, activation, added", ours: micros(measure.Median(active[0])), peer: wayDriver + " " + micros(measure.Median(active[1])),
			figure: added / 1e6, limit: 2, unit: " ms",
		},
		{
			what: strconv.Itoa(manifests) + " manifests", ours: micros(scan),
			figure: scan / 1e6, limit: 50, unit: " ms",
		},
	}
	return r, nil
}

// vscodeWorker measures both ways once: BUILD SPELL.
func vscodeWorker(args []string) (f vscodeFigures, err error) {
	if len(args) != 2 {
		return f, errors.New("want BUILD SPELL")
	}
	spell, err := time.ParseDuration(args[1])
	if err != nil {
		return f, err
	}
	dir, err := os.MkdirTemp("", "bench-extensions")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if f.Scan, err = scanManifests(dir); err != nil {
		return f, err
	}
	v := peers.VSCodeHost{Root: args[0], Extensions: filepath.Join(dir, "extensions"), State: filepath.Join(dir, "state")}
	if v.Node, err = node(); err != nil {
		return f, err
	}
	if err := os.Mkdir(v.Extensions, 0o755); err != nil {
		return f, err
	}
	if err := peers.WriteExtensions(v.Extensions, activations); err != nil {
		return f, err
	}
	var ways [2]peers.Commander
	for i := range ways {
		if ways[i], err = peers.Commands(v, i == 0); err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, ways[i].Close()) }()
	}
	took, err := inTurns([]peers.Asker{single{ways[0]}, single{ways[1]}}, spell)
	if err != nil {
		return f, err
	}
	pipelined, err := pipelines(ways, spell)
	if err != nil {
		return f, err
	}
	active, err := activates(ways)
	if err != nil {
		return f, err
	}
	for i := range ways {
		f.Round[i], f.Ops[i], f.Activate[i] = measure.Quantile(took[i], 0.5), measure.Median(pipelined[i]), measure.Median(active[i])
	}
	return f, nil
}

// single asks for one command at a time.
type single struct{ peers.Commander }

func (s single) Ask(ctx context.Context) error { return s.Execute(ctx) }

// pipelines returns how many calls a second each way has done, for each turn of
// that long in all.
func pipelines(ways [2]peers.Commander, spell time.Duration) (ops [2][]float64, err error) {
	ctx := context.Background()
	var end time.Time
	for turn := 0; turn <= 2 || time.Now().Before(end); turn++ {
		if turn == 2 { // those before warm the ways up
			end = time.Now().Add(2 * spell)
		}
		for i := range ways {
			i = (i + turn) % len(ways)
			start := time.Now()
			if err := ways[i].Pipeline(ctx, pipelineCalls, pipelineWindow); err != nil {
				return ops, err
			}
			if turn >= 2 {
				ops[i] = append(ops[i], pipelineCalls/time.Since(start).Seconds())
			}
		}
	}
	return ops, nil
}

// activates returns how long each way took to have each extension activated.
func activates(ways [2]peers.Commander) (took [2][]float64, err error) {
	ctx := context.Background()
	for n := range activations {
		for i := range ways {
			i = (i + n) % len(ways)
			start := time.Now()
			if err := ways[i].Activate(ctx, n); err != nil {
				return took, err
			}
			took[i] = append(took[i], float64(time.Since(start)))
		}
	}
	return took, nil
}

// scanManifests reads a folder of manifests and returns how long that and their
// resolution took, the median of some.
func scanManifests(dir string) (float64, error) {
	dir = filepath.Join(dir, "manifests")
	if err := writeManifests(dir); err != nil {
		return 0, err
	}
	var took []float64
	for range 7 {
		start := time.Now()
		found := manifest.Scan(context.Background(), []manifest.Root{{Dir: dir, Origin: extensions.User}}, manifest.Options{Product: "1.100.3"})
		registry, problems := extensions.NewRegistry(found.Extensions())
		took = append(took, float64(time.Since(start)))
		if err := errors.Join(append(problems, found.Problems...)...); err != nil {
			return 0, err
		}
		if registry.Len() != manifests {
			return 0, fmt.Errorf("%d extensions, %d expected", registry.Len(), manifests)
		}
	}
	return measure.Median(took), nil
}

// writeManifests makes extensions of the size that is usual: 24 commands, with
// messages beside them, and up to two dependencies.
func writeManifests(dir string) error {
	for i := range manifests {
		at := filepath.Join(dir, fmt.Sprintf("e%d", i))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		type object = map[string]any
		var commands []object
		for j := range 24 {
			commands = append(commands, object{
				"command": fmt.Sprintf("e%d.c%d", i, j), "title": fmt.Sprintf("%%title%d%%", j%4), "category": "Test",
				"icon":       object{"light": "./images/light.svg", "dark": "./images/dark.svg"},
				"enablement": "editorFocus && resourceLangId == go",
			})
		}
		needs := []string{}
		for j := range i % 3 {
			needs = append(needs, fmt.Sprintf("bench.e%d", i/(j+2)))
		}
		text, err := json.Marshal(object{
			"publisher": "bench", "name": fmt.Sprintf("e%d", i), "displayName": "%title0%", "version": "1.0.0",
			"engines": object{"vscode": "^1.70.0"}, "main": "./out/extension.js",
			"activationEvents": []string{fmt.Sprintf("onLanguage:l%d", i)}, "extensionDependencies": needs,
			"contributes": object{
				"commands":      commands,
				"languages":     []object{{"id": fmt.Sprintf("l%d", i), "configuration": "./lang.json", "extensions": []string{fmt.Sprintf(".l%d", i)}}},
				"configuration": object{"properties": object{"a": object{"type": "string", "default": "x"}}},
			},
		})
		if err != nil {
			return err
		}
		if err := errors.Join(
			os.WriteFile(filepath.Join(at, "package.json"), text, 0o644),
			os.WriteFile(filepath.Join(at, "package.nls.json"), []byte(`{"title0": "Zero", "title1": "One", "title2": "Two", "title3": "Three"}`), 0o644),
		); err != nil {
			return err
		}
	}
	return nil
}

// node is the program that VS Code's host runs on.
func node() (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node: %w", peers.ErrMissing)
	}
	return path, nil
}

// vscodeBuild returns the folder of the build of VS Code whose host is measured. Without one it is "", and
// the report says so, unless there is an error.
func vscodeBuild(r *report) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	build := filepath.Join(root, ".cache/peers/node_modules/code-server/lib/vscode")
	if _, err := os.Stat(build); errors.Is(err, os.ErrNotExist) {
		r.note("left out: VS Code's host, which ./test peers installs, is not here")
		return "", nil
	} else if err != nil {
		return "", err
	}
	return build, nil
}
