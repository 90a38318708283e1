package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

func (a *app) sandboxRunVerb() *cobra.Command {
	var c confine
	var say saying
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "run (--policy FILE | --profile NAME) [--] CMD [ARG…]",
		Short: "Run a command confined",
		Long: `Run a command confined. Its streams are ours, signals are passed on to it, and
the exit code is the command's own: 128+N when signal N ended it, 126 when it
cannot be run, 127 when it is not there, and 125 when the policy is wrong or
cannot be enforced here, with the reason on standard error.

A SIGTERM gives the command the time that --grace says; then it is killed with
everything it has started. A second SIGTERM, or a SIGINT, SIGHUP or SIGQUIT after
the first, kills at once.

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
			if grace < 0 {
				return usagef("--grace %v: a time that is not negative is expected", grace)
			}
			if err := unsupported("sandbox run", runtime.GOOS); err != nil {
				return a.confineError(err)
			}
			return a.sandboxRun(&c, command, grace, say)
		},
	}
	c.flags(cmd)
	cmd.Flags().DurationVar(&grace, "grace", 5*time.Second, "how long the command may run after a SIGTERM to hostsup before it is killed")
	cmd.Flags().BoolVar(&say.denials, "denials", false, "watch it, and report on standard error at the end what it was denied")
	cmd.Flags().BoolVar(&say.quiet, "quiet", false, "do not report on standard error what is enforced more weakly than requested, or than possible")
	cmd.Flags().StringVar(&say.report, "report", "", "write to `FILE`, as JSON, the level, what is missing, how the command ended and what it was denied")
	return cmd
}

// saying holds what sandbox run reports besides the command's own output.
type saying struct {
	denials, quiet bool
	report         string // path of the report; "": no report is written
}

func (a *app) sandboxRun(c *confine, command []string, grace time.Duration, say saying) error {
	report, err := openRunReport(say.report, command)
	if err != nil {
		return a.confineError(err)
	}
	cmd, err := a.runnable(c, command)
	if err != nil {
		a.write(report, nil, err)
		return a.confineError(err)
	}
	cmd.Observe = say.denials || c.observe
	cmd.Files = []*os.File{fileOf(a.in), fileOf(a.out), fileOf(a.errout)}
	opt := c.options()
	opt.Unrecorded = !cmd.Observe && report == nil
	end, err := runConfined(opt, cmd, grace, func(child *sandbox.Child) {
		in := child.Confinement()
		report.started(in)
		if say.quiet {
			return
		}
		for _, m := range weaker(in) {
			fmt.Fprintf(a.errout, "hostsup: sandbox: %s\n", show.Clean(m))
		}
	})
	a.write(report, end, err)
	if err != nil {
		return a.confineError(err)
	}
	if end.killed != "" && end.exit.Signal == int(syscall.SIGKILL) {
		fmt.Fprintf(a.errout, "hostsup: sandbox: %s: everything it had started was killed\n", end.killed)
	}
	if say.denials {
		a.strayed(c)
		for _, d := range end.denials {
			fmt.Fprintf(a.errout, "hostsup: denied: %s\n", show.Clean(d.String()))
		}
	}
	if end.faulted() && !say.denials && !say.quiet {
		fmt.Fprintf(a.errout, "hostsup: sandbox: the command was %s; run it with --denials to see what it was denied\n", show.Signal(end.exit.Signal))
	}
	if end.exit.OutOfMemory {
		fmt.Fprintf(a.errout, "hostsup: out of memory (limit %s)\n", show.Bytes(c.limits.Memory))
	}
	if code := end.code(); code != 0 {
		return &printed{code}
	}
	return nil
}

// runnable returns the command if the policy is valid and can be enforced.
func (a *app) runnable(c *confine, command []string) (*sandbox.Command, error) {
	if err := a.loadPolicy(c); err != nil {
		return nil, err
	}
	sandbox.RememberProbe()
	if err := reached(&c.policy); err != nil {
		return nil, err
	}
	return c.command(command)
}

// strayed warns if the command cannot have the present working folder because that
// is not granted, and returns the folder; "" if the command has it, or another one
// was requested.
func (a *app) strayed(c *confine) string {
	here, err := os.Getwd()
	if err != nil || c.dir != "" || resolve.Reaches(c.resolved, here) {
		return ""
	}
	fmt.Fprintf(a.errout, "hostsup: the working folder is not granted; %s\n", show.Clean(policy.Add(policy.Line("read", here))))
	return here
}

// command returns the command to run. The program is looked up in this program's
// PATH, and the policy must let it run.
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
	case c.resolved == nil || resolve.Reaches(c.resolved, here):
		dir = here
	}
	path, err := sandbox.LookPath(command[0], lookIn, os.Getenv("PATH"))
	if err != nil {
		return nil, &findError{err: err}
	}
	if c.resolved != nil && c.resolved.Policy.Level != policy.None && !resolve.Access(c.resolved, path).Has(policy.Exec) {
		return nil, &findError{&policy.LackError{What: path + " is not granted for running", Line: policy.Line("exec", path), Err: os.ErrPermission}, path}
	}
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	return &sandbox.Command{Name: "run", Path: path, Args: command, Env: env, Dir: dir, Policy: &c.policy, Limits: c.limits}, nil
}

// options selects how the command's tree is ended. A tree in namespaces of its own
// ends with them, and needs neither a cgroup for that nor a keeper, which would have
// to be started first.
func (c *confine) options() sandbox.Options {
	counted := c.limits.Memory > 0 || c.limits.Tasks > 0 || c.limits.CPU > 0
	if counted || c.policy.Weakest(os.Geteuid() == 0) == policy.None || !sandbox.Probe().Level.AtLeast(policy.NoCgroup) {
		return sandbox.Options{}
	}
	return sandbox.Options{Kill: sandbox.KillGroup}
}

// handed lists the variables that a confined command gets by default: those needed
// to find programs and to write on this terminal.
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

// absolute converts a path of the command line for a policy.
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

// fileOf returns the file behind a stream; nil, which is /dev/null to a command, if
// it is not a file.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}

// ending describes how a confined command ended.
type ending struct {
	exit    sandbox.Exit
	denials []denial.Denial
	killed  string // why its tree was killed; empty when it was not
}

// code returns the matching exit code.
func (e *ending) code() int {
	if e.exit.Signal != 0 {
		return 128 + e.exit.Signal
	}
	return e.exit.Code
}

// faulted reports whether the command ended by a signal that is typical of programs
// that do not expect a refusal.
func (e *ending) faulted() bool {
	switch syscall.Signal(e.exit.Signal) {
	case syscall.SIGABRT, syscall.SIGBUS, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGTRAP:
		return true
	}
	return false
}

// runConfined runs a command to its end and passes signals to it. Processes that it
// has started end with it. Started is called once it runs.
func runConfined(opt sandbox.Options, cmd *sandbox.Command, grace time.Duration, started func(*sandbox.Child)) (*ending, error) {
	signals := passed()
	l, err := sandbox.NewLauncher(opt)
	if err != nil {
		signals.stop()
		return nil, err
	}
	signals.await()
	child, err := l.Start(cmd)
	if err != nil {
		signals.stop()
		return nil, errors.Join(err, l.Close())
	}
	started(child)
	signals.to(child, grace)
	<-child.Done()
	e := &ending{exit: child.Exit()}
	child.Release()
	var stopping sync.WaitGroup
	stopping.Go(func() { e.killed = signals.stop() }) // concurrently with the end of the namespaces
	err = l.Close()                                   // afterwards all denials are recorded
	e.denials = child.Denials()
	stopping.Wait()
	return e, err
}
