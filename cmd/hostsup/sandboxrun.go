package main

import (
	"errors"
	"fmt"

	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func (a *app) sandboxRunVerb() *cobra.Command {
	var c confine
	var denials bool
	cmd := &cobra.Command{
		Use:   "run (--policy FILE | --profile NAME) [--] CMD [ARG…]",
		Short: "Run a command confined",
		Long: `Run a command confined. Its streams are ours, signals are passed on to it, and
the exit code is the command's own: 128+N when signal N ended it, 126 when it
cannot be run, 127 when it is not there, and 125 when the policy is wrong or
cannot be enforced here, with the reason on standard error.

Of the environment it gets PATH, TERM, LANG and what --env names; HOME is its
work folder, else /tmp. Everything it has started ends with it.`,
		Example: `  hostsup sandbox run --profile strict -- id
  hostsup sandbox run --profile node --read . --env NODE_ENV -- node script.js
  hostsup sandbox run --policy policy.hcl -- make`,
		Args: args(1, -1, "CMD"),
		RunE: func(_ *cobra.Command, command []string) error {
			if c.file == "" && c.profile == "" {
				return usagef("a policy is missing: --policy FILE or --profile NAME")
			}
			return a.sandboxRun(&c, command, denials)
		},
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&denials, "denials", false, "watch it, and say on standard error at the end what it was denied")
	return cmd
}

func (a *app) sandboxRun(c *confine, command []string, denials bool) error {
	if err := a.loadPolicy(c); err != nil {
		return a.confineError(err)
	}
	if err := reached(&c.policy); err != nil {
		return a.confineError(err)
	}
	cmd, err := c.command(command)
	if err != nil {
		return a.confineError(err)
	}
	cmd.Observe = denials || c.observe
	cmd.Files = []*os.File{fileOf(a.in), fileOf(a.out), fileOf(a.errout)}
	end, err := runConfined(sandbox.Options{}, cmd)
	if err != nil {
		return a.confineError(err)
	}
	if denials {
		for _, d := range end.denials {
			fmt.Fprintf(a.errout, "hostsup: denied: %s\n", show.Clean(d.String()))
		}
	}
	if end.exit.OutOfMemory {
		fmt.Fprintf(a.errout, "hostsup: out of memory (limit %s)\n", show.Bytes(c.limits.Memory))
	}
	if code := end.code(); code != 0 {
		return &told{code}
	}
	return nil
}

// command renders what is to be run. The program is looked up in our own PATH,
// and has to be one that the policy lets run.
func (c *confine) command(command []string) (*sandbox.Command, error) {
	dir := c.dir
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	lookIn := here
	switch {
	case dir != "":
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		lookIn = dir
	case c.resolved == nil || c.resolved.Reaches(here):
		dir = here
	}
	path, err := sandbox.LookPath(command[0], lookIn, os.Getenv("PATH"))
	if err != nil {
		return nil, &findError{err}
	}
	if c.resolved != nil && c.resolved.Policy.Level != policy.None && !c.resolved.Access(path).Has(policy.Exec) {
		return nil, &findError{fmt.Errorf("%s is not granted for running: add it, or its folder, to exec: %w", path, os.ErrPermission)}
	}
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	return &sandbox.Command{Name: "run", Path: path, Args: command, Env: env, Dir: dir, Policy: &c.policy, Limits: c.limits}, nil
}

// handed are the variables that a confined command gets unasked: they say how
// to find programs and how to write on this terminal.
var handed = []string{"PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}

func (c *confine) environment() ([]string, error) {
	home := "/tmp"
	if c.policy.Work.Path != "" {
		home = c.policy.Work.Path
	}
	vars := map[string]string{"HOME": home}
	names := []string{"HOME"}
	set := func(name, value string) {
		if _, ok := vars[name]; !ok {
			names = append(names, name)
		}
		vars[name] = value
	}
	for _, name := range handed {
		if v, ok := os.LookupEnv(name); ok {
			set(name, v)
		}
	}
	for _, s := range c.env {
		name, value, given := strings.Cut(s, "=")
		switch {
		case name == "" || strings.ContainsRune(s, 0):
			return nil, usagef("--env %q: write NAME or NAME=VALUE", s)
		case !given:
			v, ok := os.LookupEnv(name)
			if !ok {
				return nil, usagef("--env %s: there is no variable of that name", name)
			}
			value = v
		}
		set(name, value)
	}
	env := make([]string, 0, len(names))
	for _, name := range names {
		env = append(env, name+"="+vars[name])
	}
	return env, nil
}

// absolute makes a path of the command line one of a policy.
func absolute(s string, pattern bool) (string, error) {
	path, optional := s, false
	if !pattern {
		path, optional = policy.Optional(s)
	}
	if path == "" {
		return "", usagef("a path is empty")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if optional {
		abs = "-" + abs
	}
	return abs, nil
}

// fileOf is the file behind one of our streams; nil, which is /dev/null to a
// command, when it is none.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}

// ending is how a confined command ended.
type ending struct {
	exit    sandbox.Exit
	denials []denial.Denial
	in      sandbox.Confinement
}

// code is the exit code that tells of it.
func (e *ending) code() int {
	if e.exit.Signal != 0 {
		return 128 + e.exit.Signal
	}
	return e.exit.Code
}

// runConfined runs a command to its end, with signals passed on to it. What it
// has started ends with it.
func runConfined(opt sandbox.Options, cmd *sandbox.Command) (*ending, error) {
	l, err := sandbox.NewLauncher(opt)
	if err != nil {
		return nil, err
	}
	signals := passed()
	defer signals.stop()
	child, err := l.Start(cmd)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	signals.to(child)
	<-child.Done()
	e := &ending{exit: child.Exit(), in: child.Confinement()}
	child.Release()
	err = l.Close() // what is recorded of denials is there now
	e.denials = child.Denials()
	return e, err
}
