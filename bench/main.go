// Command bench measures hostsup side by side with other ways to do the same
// work, in one run on one machine, and prints ratios. Absolute figures of a
// shared or busy machine mean little; ratios of one run mean something.
//
//	bench [flags] all         everything below
//	bench [flags] echo        100-byte calls, one at a time and many in flight
//	bench [flags] restart     from kill -9 to the first instruction of the next process
//	bench [flags] many        a thousand sleeping hosts
//	bench [flags] capture     200 MB of output captured by line
//	bench [flags] crashloop   starts of a host that exits at once
//	bench [flags] pending     memory of requests that wait
//	bench [flags] confine     starts of a confined process
//	bench [flags] proxy       1 GiB through the proxy of an allow-list
//	bench [flags] exec        an exec server beside Codex's
//	bench [flags] neovim      Neovim under hostsup and asked directly
//	bench [flags] jsonrpc     latency added to language and MCP servers
//	bench [flags] attach      1 GiB passed on to an attached client
//	bench [flags] vscode      VS Code's extension host under hostsup and driven directly
//	bench [flags] request     three ways to keep a pending request
//
// With -profile DIR each process leaves a CPU profile there.
//
// What is measured runs in processes of its own, which are this binary started
// again; its own verbs for that are not meant for people.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/bench/peers"
)

// options are what a person can choose.
type options struct {
	rounds int           // of every contender, in turns
	spell  time.Duration // how long one echo measurement runs
	hosts  int           // of the measurement with many
}

// section is one group of measurements.
type section struct {
	name string
	run  func(options) (*report, error)
}

func sections() []section {
	return []section{
		{"echo", echoSection},
		{"restart", restartSection},
		{"many", manySection},
		{"capture", captureSection},
		{"crashloop", crashloopSection},
		{"pending", pendingSection},
		{"confine", confineSection},
		{"proxy", proxySection},
		{"exec", execSection},
		{"neovim", neovimSection},
		{"jsonrpc", jsonrpcSection},
		{"attach", attachSection},
		{"vscode", vscodeSection},
		{"request", requestSection},
	}
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		if code, ok := inner(args[0], args[1:]); ok {
			return code
		}
	}
	var opt options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&opt.rounds, "rounds", 7, "how often each contender takes its turn")
	flags.DurationVar(&opt.spell, "spell", 700*time.Millisecond, "how long one echo measurement runs")
	flags.IntVar(&opt.hosts, "hosts", 1000, "how many sleeping hosts")
	profiles := flags.String("profile", "", "folder for CPU profiles of what is measured")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *profiles != "" {
		if err := os.Setenv(peers.ProfileEnv, *profiles); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 2
		}
	}
	if opt.rounds < 1 || opt.spell <= 0 || opt.hosts < 1 {
		fmt.Fprintln(os.Stderr, "bench: rounds, spell and hosts must be positive")
		return 2
	}
	names := flags.Args()
	if len(names) == 0 {
		names = []string{"all"}
	}
	chosen, err := choose(names)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	machine()
	code := 0
	var targets []target
	for _, s := range chosen {
		start := time.Now()
		r, err := s.run(opt)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
			code = 1
			continue
		}
		r.print(os.Stdout)
		fmt.Printf("(%s took %s)\n\n", s.name, time.Since(start).Round(time.Second))
		targets = append(targets, r.targets...)
	}
	printTargets(os.Stdout, targets)
	return code
}

func choose(names []string) ([]section, error) {
	var chosen []section
	for _, name := range names {
		found := false
		for _, s := range sections() {
			if name == s.name || name == "all" {
				chosen = append(chosen, s)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is no measurement", name)
		}
	}
	return chosen, nil
}

// inner runs the verbs that bench starts itself with.
func inner(verb string, args []string) (code int, ok bool) {
	if !slices.Contains([]string{"demo-host", "serve", "worker"}, verb) {
		return 0, false
	}
	name := verb
	for _, a := range args {
		name += "-" + filepath.Base(a)
	}
	stop, err := peers.Profile(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1, true
	}
	defer stop()
	switch verb {
	case "demo-host":
		return peers.DemoHost(), true
	case "serve":
		if len(args) == 0 {
			return 2, true
		}
		socket := ""
		if len(args) > 1 {
			socket = args[1]
		}
		err = peers.RunServer(args[0], socket)
	case "worker":
		err = work(args)
	}
	if errors.Is(err, peers.ErrMissing) {
		return exitMissing, true
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s %s: %v\n", verb, strings.Join(args, " "), err)
		return 1, true
	}
	return 0, true
}
