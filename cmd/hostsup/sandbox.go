package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/nearest"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

func (a *app) sandboxVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run commands confined, and see what this machine can enforce",
		Args:  noSuchVerb,
		RunE:  noVerb,

		PersistentPreRun: func(*cobra.Command, []string) { makeRoom() },
	}
	cmd.AddCommand(a.sandboxRunVerb(), a.sandboxExplainVerb(), a.sandboxProfileVerb(), a.sandboxDoctorVerb(), a.sandboxSelftestVerb())
	return cmd
}

// makeRoom lets a delegated cgroup that has only this process distribute limits. If
// that fails, the requested limits are refused later, with the reason.
func makeRoom() { _ = sandbox.EnterDelegated() }

// confine holds the flags about a policy.
type confine struct {
	file, profile, level, network     string
	read, exec, write, readOnly, deny []string
	allow, listen                     []string
	env                               []string
	dir                               string

	policy   policy.Policy
	limits   policy.Limits
	resolved *policy.Resolved
	observe  bool
}

func (c *confine) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false) // words after the command are its arguments
	f.StringVar(&c.file, "policy", "", "policy `FILE`: a sandbox block and, where wanted, a limits block")
	f.StringVar(&c.profile, "profile", "", "start from a named profile: `NAME` is one of "+strings.Join(policy.Profiles(), ", "))
	c.grants(f)
	cobra.CheckErr(cmd.MarkFlagFilename("policy", "hcl"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(policy.Profiles(), cobra.ShellCompDirectiveNoFileComp)))
}

// grants adds the flags about what a policy grants, and about the command.
func (c *confine) grants(f *pflag.FlagSet) {
	f.StringVar(&c.level, "level", "", "weakest `LEVEL` that is accepted: full, no-cgroup, landlock or none")
	f.StringArrayVar(&c.read, "read", nil, "grant `PATH` for reading; may be repeated, like the next four")
	f.StringArrayVar(&c.exec, "exec", nil, "grant `PATH` for reading and running")
	f.StringArrayVar(&c.write, "write", nil, "grant `PATH` for reading and writing")
	f.StringArrayVar(&c.readOnly, "read-only", nil, "forbid writing to `PATH`, although it is below a writable one")
	f.StringArrayVar(&c.deny, "deny", nil, "deny `PATH` or pattern inside of what is granted")
	f.StringVar(&c.network, "network", "", "what it may reach: none, host, or what --allow names")
	f.StringArrayVar(&c.allow, "allow", nil, "let it reach `HOST:PORT`; may be repeated, like the next")
	f.StringArrayVar(&c.listen, "listen", nil, "forward `IP:PORT` of this machine to that port of its own loopback")
	f.StringArrayVar(&c.env, "env", nil, "give it a variable, `NAME=VALUE` or the NAME of one of the own environment; may be repeated")
	f.StringVar(&c.dir, "dir", "", "working `FOLDER` (default: the present one if granted, else its work folder, else /)")
}

// given reports whether a policy was named.
func (c *confine) given() bool {
	return c.file != "" || c.profile != "" || len(c.read)+len(c.exec)+len(c.write)+len(c.readOnly)+len(c.deny)+len(c.allow)+len(c.listen) > 0 || c.level != "" || c.network != ""
}

// loadPolicy reads the named policy into policy, limits and resolved. An error that
// is not wrong use is a *configError, or one of package policy.
func (a *app) loadPolicy(c *confine) error {
	if err := a.readPolicy(c); err != nil {
		return err
	}
	var err error
	c.resolved, err = resolve.Policy(&c.policy, c.limits)
	return err
}

// readPolicy reads the named policy into policy and limits.
func (a *app) readPolicy(c *confine) error {
	vars, err := config.ParseVars(a.vars)
	if err != nil {
		return &usageError{text: err.Error()}
	}
	if c.file != "" {
		f, diags := config.LoadPolicy(c.file, config.Options{Vars: vars})
		if f == nil {
			return &configError{diags: diags}
		}
		c.policy, c.limits = f.Policy, f.Limits
		c.observe = f.Observe == hostspec.ObserveAlways
	}
	if c.profile != "" {
		p, ok := policy.Profile(c.profile)
		if !ok {
			return &policy.Error{Field: "profile", Value: c.profile, Reason: "there is no such profile", Help: "use one of " + strings.Join(policy.Profiles(), ", "), Where: "--profile"}
		}
		c.policy = policy.Merge(p, c.policy)
	}
	more, err := c.more()
	if err != nil {
		return err
	}
	c.policy = policy.Merge(c.policy, more)
	return nil
}

// more returns what the flags add to a policy.
func (c *confine) more() (policy.Policy, error) {
	p := policy.Policy{Level: policy.Level(c.level), Network: policy.Network(c.network), Source: map[string]string{}}
	for _, l := range []struct {
		name string
		from []string
		to   *[]string
	}{{"read", c.read, &p.Read}, {"exec", c.exec, &p.Exec}, {"write", c.write, &p.Write}, {"read_only", c.readOnly, &p.ReadOnly}, {"deny", c.deny, &p.Deny}} {
		for i, s := range l.from {
			path, err := absolute(s, l.name == "deny")
			if err != nil {
				return p, err
			}
			*l.to = append(*l.to, path)
			p.Source[fmt.Sprintf("%s[%d]", l.name, i)] = "--" + strings.ReplaceAll(l.name, "_", "-")
		}
	}
	for i := range c.allow {
		p.Source[fmt.Sprintf("allow[%d]", i)] = "--allow"
	}
	for i := range c.listen {
		p.Source[fmt.Sprintf("listen[%d]", i)] = "--listen"
	}
	p.Listen = c.listen
	if p.Allow = c.allow; len(c.allow) > 0 && c.network == "" {
		p.Network = policy.NetworkAllow
	}
	if c.level != "" {
		p.Source["level"] = "--level"
	}
	if c.network != "" {
		p.Source["network"] = "--network"
	}
	return p, nil
}

// enforceable resolves a policy on this machine, and returns which limits are
// enforced more weakly than requested, or why the two cannot be enforced.
func enforceable(p *policy.Policy, l policy.Limits) (r *policy.Resolved, weaker []*policy.Error, err error) {
	if r, err = resolve.Policy(p, l); err != nil {
		return nil, nil, err
	}
	if err := reached(p); err != nil {
		return nil, nil, err
	}
	if weaker, err = sandbox.Probe().Limits(p, l); err != nil {
		return nil, nil, err
	}
	return r, weaker, nil
}

// reached returns an error if the weakest level that p accepts is stronger than what
// this machine can enforce.
func reached(p *policy.Policy) error {
	if p == nil || p.Weakest(os.Geteuid() == 0) == policy.None {
		return nil
	}
	m, want := sandbox.Probe(), p.Weakest(os.Geteuid() == 0)
	if m.Level.AtLeast(want) {
		return nil
	}
	return &policy.Error{
		Field: "level", Value: string(want), Where: p.Source["level"],
		Reason: fmt.Sprintf("this machine enforces level %s only", m.Level) + lacking(m, want),
		Help:   "hostsup sandbox doctor reports what is missing; a weaker level must be accepted by name",
	}
}

// lacking lists what a level needs and this machine lacks.
func lacking(m *sandbox.Machine, level policy.Level) string {
	var names []string
	for _, f := range m.Features {
		for _, l := range f.For {
			if l == level && !f.Have {
				names = append(names, f.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": there is no " + strings.Join(names, ", no ")
}

// Exit codes of sandbox run that are not the command's own, as in shells and
// programs that run other programs.
const (
	exitConfine  = 125 // the policy is wrong, or cannot be enforced here
	exitNoRun    = 126 // the command exists and cannot be run
	exitNotFound = 127 // the command does not exist
)

// confineError prints why a command was not run, and returns the exit code.
func (a *app) confineError(err error) error {
	var usage *usageError
	var conf *configError
	scr := screen(a.errout)
	switch {
	case errors.As(err, &usage):
		return err
	case errors.As(err, &conf):
		_ = config.Print(a.errout, conf.diags, scr.Color, scr.Width) // there is nowhere else to report it
	case len(policy.Errors(err)) > 0:
		for _, e := range policy.Errors(err) {
			fmt.Fprintf(a.errout, "hostsup: sandbox: %s\n", show.Clean(e.Error()))
		}
	default:
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(err.Error()))
	}
	return &printed{startCode(err)}
}

// startCode returns the exit code for a command that did not start.
func startCode(err error) int {
	var start *sandbox.StartError
	if errors.As(err, &start) {
		switch start.Step {
		case sandbox.StepExec:
			if errors.Is(err, os.ErrNotExist) {
				return exitNotFound
			}
			return exitNoRun
		case sandbox.StepInterpreter, sandbox.StepFormat:
			return exitNoRun
		}
		return exitConfine
	}
	var find *findError
	if errors.As(err, &find) {
		if errors.Is(err, os.ErrNotExist) {
			return exitNotFound
		}
		return exitNoRun
	}
	return exitConfine
}

// findError means that a command cannot be found, or cannot be run.
type findError struct {
	err   error
	grant string // what the policy would have to grant for running; may be empty
}

func (e *findError) Error() string { return e.err.Error() }
func (e *findError) Unwrap() error { return e.err }

func (a *app) sandboxProfileVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "profile [NAME]",
		Short: "Print a named profile as a policy file, or the names of all",
		Args:  args(0, 1, "NAME"),
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(given) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []cobra.Completion
			for _, name := range policy.Profiles() {
				out = append(out, cobra.CompletionWithDesc(name, policy.ProfileDoc(name)))
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return screen(a.out).Profiles(a.out)
			}
			p, ok := policy.Profile(given[0])
			if !ok {
				text := fmt.Sprintf("there is no profile %q", given[0])
				if near := nearest.Question(given[0], policy.Profiles()); near != "" {
					text += ": " + near
				} else {
					text += ": there are " + strings.Join(policy.Profiles(), ", ")
				}
				return &usageError{text: text}
			}
			fmt.Fprintf(a.out, "# Profile %q: %s.\n", p.Profile, policy.ProfileDoc(p.Profile))
			p.Profile = "" // the profile is written out
			_, err := io.WriteString(a.out, config.FormatPolicy(p, policy.Limits{}))
			return err
		},
	}
}

func (a *app) sandboxDoctorVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can enforce, and what to do about the rest",
		Args:  args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m := sandbox.Probe()
			if a.json {
				a.out.jsonDocument(m)
				return nil
			}
			user := "an ordinary user"
			if os.Geteuid() == 0 {
				user = "root"
			}
			return screen(a.out).Machine(a.out, m, runtime.GOOS+"/"+runtime.GOARCH, user)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}
