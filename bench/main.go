// Command bench measures hostsup side by side with other ways to do the same
// work, in one run on one machine, and prints ratios. Absolute figures of a
// shared or busy machine mean little; ratios of one run mean something.
//
//	bench [flags] all         everything below
//	bench [flags] echo        100-byte calls, one at a time and many in flight
//	bench [flags] restart     from kill -9 to the first instruction of the next process
//	bench [flags] many        a thousand sleeping hosts
//	bench [flags] reload      one change in the configuration of a thousand hosts, and an idle supervisor that is watched
//	bench [flags] capture     200 MB of output captured by line
//	bench [flags] crashloop   starts of a host that exits at once
//	bench [flags] pending     memory of requests that wait
//	bench [flags] confine     starts of a confined process
//	bench [flags] proxy       1 GiB through the proxy of an allow-list
//	bench [flags] exec        an exec server beside Codex's
//	bench [flags] neovim      Neovim under hostsup and asked directly
//	bench [flags] python      a host in Python by sdk/python and by pynvim
//	bench [flags] jsonrpc     latency added to language and MCP servers
//	bench [flags] attach      1 GiB passed on to an attached client
//	bench [flags] client      a client of hostsup attach beside one with pipes to the server
//	bench [flags] vscode      VS Code's extension host under hostsup and driven directly
//	bench [flags] search      an extension that searches 10,000 files beside ripgrep
//	bench [flags] files       10,000 files watched
//	bench [flags] language    a language feature of an extension by position and by a bare call
//	bench [flags] typescript  a host of the SDK for TypeScript beside vscode-jsonrpc
//	bench [flags] request     three ways to keep a pending request
//	bench [flags] evidence    calls with the recorder of crash reports and without it
//
// With -profile DIR each process leaves a CPU profile there. With -page FILE the last
// part of a page, docs/performance.md, becomes what the run has printed, verdicts first.
//
// What is measured runs in processes of its own, which are this binary started
// again; its own verbs for that are not meant for people.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
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
		{"reload", reloadSection},
		{"capture", captureSection},
		{"crashloop", crashloopSection},
		{"pending", pendingSection},
		{"confine", confineSection},
		{"proxy", proxySection},
		{"exec", execSection},
		{"neovim", neovimSection},
		{"python", pythonSection},
		{"jsonrpc", jsonrpcSection},
		{"attach", attachSection},
		{"client", clientSection},
		{"vscode", vscodeSection},
		{"search", searchSection},
		{"files", filesSection},
		{"language", languageSection},
		{"typescript", typescriptSection},
		{"request", requestSection},
		{"evidence", evidenceSection},
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
	flags.IntVar(&opt.hosts, "hosts", 1000, "how many sleeping hosts, of many and reload")
	profiles := flags.String("profile", "", "folder for CPU profiles of what is measured")
	page := flags.String("page", "", "Markdown file whose last part, after its line "+mark+", becomes what is printed")
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
	where := machine()
	fmt.Println(where)
	code := 0
	var targets []target
	var sections bytes.Buffer
	for _, s := range chosen {
		start := time.Now()
		r, err := s.run(opt)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
			code = 1
			continue
		}
		out := io.MultiWriter(os.Stdout, &sections)
		r.print(out)
		fmt.Fprintf(out, "(%s took %s)\n\n", s.name, time.Since(start).Round(time.Second))
		targets = append(targets, r.targets...)
	}
	var verdicts bytes.Buffer
	printTargets(&verdicts, targets)
	fmt.Print(verdicts.String())
	if *page != "" {
		run := fmt.Sprintf("`cd bench && go run . %s`\nprinted on %s", strings.Join(args, " "), where)
		if err := rewrite(*page, run+"\n"+verdicts.String()+sections.String()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
	}
	return code
}

// mark is the line of a page behind which the figures stand.
const mark = "<!-- one run -->"

// rewrite puts text in place of all that follows the mark in a file.
func rewrite(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, _, ok := strings.Cut(string(old), mark+"\n")
	if !ok {
		return fmt.Errorf("%s has no line %q, behind which the figures go", file, mark)
	}
	return os.WriteFile(file, []byte(head+mark+"\n\n"+strings.TrimRight(text, "\n")+"\n"), 0o644)
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
