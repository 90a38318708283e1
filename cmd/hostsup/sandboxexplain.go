package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func (a *app) sandboxExplainVerb() *cobra.Command {
	var c confine
	var file, refine string
	var diff bool
	cmd := &cobra.Command{
		Use:   "explain [--policy FILE | --profile NAME | --refine FILE] [--] [CMD [ARG…]]",
		Short: "Show what a policy comes to here, or the smallest that a command needs",
		Long: `Without a policy, run a command as it is, watched, and print the smallest policy
that it needed. With a policy, run it confined and print that policy with
what it lacks. With a policy and no command, print what the policy comes to on
this machine: what is granted, and which files its patterns deny.

With --refine, run the command confined again and again, each time with what it
was denied the time before, until nothing is denied that its result depends on: its
exit code and its standard output. It has to be one that can be run again.
With --diff, print what two policies differ in, each a file or a named profile.

The policy goes to standard output or to the file named by --output; the
command's own standard output goes to standard error unless there is --output.
The command has the environment that sandbox run gives it, and an empty HOME in
/tmp. What is watched can be changed by the command right after: read the policy
before it is used on what is not trusted.`,
		Example: `  hostsup sandbox explain -- node script.js > policy.hcl
  hostsup sandbox explain --profile node --read . -- node script.js
  hostsup sandbox explain --refine policy.hcl -o policy.hcl -- node script.js
  hostsup sandbox explain --diff node policy.hcl
  hostsup sandbox explain --policy policy.hcl`,
		Args: args(0, -1, "CMD"),
		RunE: func(cmd *cobra.Command, command []string) error {
			switch {
			case diff && (len(command) != 2 || refine != "" || c.given()):
				return usagef("--diff takes two policies, each a file or the name of a profile, and nothing else")
			case diff:
				return a.sandboxDiff(command[0], command[1])
			case refine != "" && c.file != "":
				return usagef("--refine FILE is the policy: leave --policy out")
			case refine != "" && len(command) == 0:
				return usagef("a command is missing to be run with %s", refine)
			case refine != "":
				if err := unsupported("sandbox explain", runtime.GOOS); err != nil {
					return a.confineError(err)
				}
				c.file = refine
				return a.sandboxRefine(cmd.Context(), &c, command, file)
			case len(command) == 0 && !c.given():
				return usagef("a command is missing, or a policy")
			}
			if err := unsupported("sandbox explain", runtime.GOOS); err != nil && len(command) > 0 {
				return a.confineError(err)
			}
			return a.sandboxExplain(cmd.Context(), &c, command, file)
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the policy to `FILE`")
	cmd.Flags().StringVar(&refine, "refine", "", "start from the policy `FILE`, and run the command until it lacks nothing")
	cmd.Flags().BoolVar(&diff, "diff", false, "print what two policies differ in")
	cobra.CheckErr(cmd.MarkFlagFilename("refine", "hcl"))
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) sandboxExplain(ctx context.Context, c *confine, command []string, file string) error {
	var weak error // what this machine cannot enforce
	if c.given() {
		if err := a.loadPolicy(c); err != nil {
			return a.confineError(err)
		}
		weak = reached(&c.policy)
	}
	if len(command) == 0 {
		weaker, refused := sandbox.Probe().Limits(&c.policy, c.limits)
		for _, e := range slices.Concat(policy.Errors(weak), policy.Errors(refused), weaker) {
			fmt.Fprintf(a.errout, "hostsup: sandbox: %s\n", show.Clean(e.Error()))
		}
		if a.json {
			a.out.jsonDocument(resolvedJSON(c.resolved))
			return nil
		}
		return screen(a.out).Resolved(a.out, c.resolved)
	}
	if weak != nil {
		return a.confineError(weak)
	}
	cmd, err := c.command(command)
	if err != nil {
		return a.confineError(err)
	}
	if c.given() {
		a.strayed(c)
	} else {
		cmd.Policy = nil // it runs unconfined
		home, err := os.MkdirTemp("/tmp", "hostsup-home-")
		if err != nil {
			return a.confineError(fmt.Errorf("make an empty HOME for it: %w", err))
		}
		defer os.RemoveAll(home) //nolint:errcheck // what it made unremovable stays in /tmp
		for i, v := range cmd.Env {
			if v == "HOME=/tmp" { // not a requested one
				cmd.Env[i] = "HOME=" + home
			}
		}
	}
	cmd.Files = []*os.File{fileOf(a.in), fileOf(a.errout), fileOf(a.errout)}
	if file != "" {
		cmd.Files[1] = fileOf(a.out)
	}
	found, err := explain(ctx, cmd)
	if err != nil {
		return a.confineError(err)
	}
	found.confined, found.command, found.limits = c.given(), command, c.limits
	return a.writeExplained(found, file)
}

// writeExplained writes the findings to a file, or to standard output for "".
func (a *app) writeExplained(found *explained, file string) (err error) {
	text := found.text()
	if a.json {
		if text, err = found.json(); err != nil {
			return err
		}
	}
	if file != "" {
		f, err := createPlain(file)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
	_, err = io.WriteString(a.out, text)
	return err
}

// explained holds what a run needed.
type explained struct {
	command  []string
	confined bool
	needed   policy.Policy
	limits   policy.Limits // of the policy that it ran under
	denials  []denial.Denial
	exit     sandbox.Exit
	rounds   int // of --refine; 0: without
}

func explain(ctx context.Context, cmd *sandbox.Command) (*explained, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	l, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	var e explained
	e.needed, e.denials, e.exit, err = sandbox.Explain(ctx, l, *cmd)
	if errors.Is(err, context.Canceled) {
		err = nil // the findings so far are the result
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	return &e, nil
}

// text returns a policy file with its reasons as comments.
func (e *explained) text() string {
	var b strings.Builder
	comment := func(format string, args ...any) {
		fmt.Fprintf(&b, "# %s\n", show.Clean(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")))
	}
	comment("%s %s.", strings.Join(e.command, " "), e.ending())
	denied := func() {
		for _, d := range e.denials {
			comment("  %s", d.String())
		}
	}
	switch {
	case !e.confined:
		for _, d := range e.denials {
			if d.Kind == denial.Connect && d.Detail != "" {
				comment("%s: %s", d.Suggest, d.Detail)
			}
		}
		comment("The smallest policy that it needed, as far as this run went:")
	case e.rounds > 0 && len(e.denials) > 0:
		comment("It was run %d times. Its result does not depend on what it is still denied:", e.rounds)
		denied()
		comment("The policy:")
	case e.rounds > 0:
		comment("It was run %d times, and is denied nothing any more. The policy:", e.rounds)
	case len(e.denials) == 0:
		comment("It was denied nothing. The policy:")
	default:
		comment("It was denied:")
		denied()
		comment("The policy with grants that would have avoided that:")
	}
	b.WriteString(config.FormatPolicy(e.needed, e.limits))
	return b.String()
}

func (e *explained) json() (string, error) {
	var b bytes.Buffer
	out := output{w: &b}
	exit := struct {
		Code   *int `json:"code"`
		Signal *int `json:"signal"`
	}{Code: &e.exit.Code}
	if e.exit.Signal != 0 {
		exit.Code, exit.Signal = nil, &e.exit.Signal
	}
	out.jsonDocument(map[string]any{
		"command": e.command, "exit": exit, "confined": e.confined, "denials": append([]denial.Denial{}, e.denials...),
		"policy": config.FormatPolicy(e.needed, e.limits),
	})
	return b.String(), out.err
}

// resolvedJSON returns a resolved policy, for scripts.
func resolvedJSON(r *policy.Resolved) any {
	type grant struct {
		Path   string `json:"path"`
		Access string `json:"access"`
		Dir    bool   `json:"dir"`
		Device bool   `json:"device"`
		Link   string `json:"link,omitempty"`
		Field  string `json:"field"`
	}
	type denied struct {
		Path    string `json:"path"`
		Missing bool   `json:"missing"`
		Dir     bool   `json:"dir"`
		Pattern string `json:"pattern,omitempty"`
		Field   string `json:"field"`
		Closed  string `json:"closed,omitempty"`
	}
	out := struct {
		Policy          string   `json:"policy"`
		Level           string   `json:"level"`
		Grants          []grant  `json:"grants"`
		Denied          []denied `json:"denied"`
		PrivateTmp      bool     `json:"private_tmp"`
		RefusedSyscalls []string `json:"refused_syscalls"`
	}{
		Policy: config.FormatPolicy(r.Policy, r.Limits), Level: string(r.Policy.Level), Grants: []grant{}, Denied: []denied{},
		PrivateTmp: r.PrivateTmp, RefusedSyscalls: append([]string{}, r.RefusedSyscalls...),
	}
	for _, g := range r.Grants {
		out.Grants = append(out.Grants, grant{g.Path, g.Access.String(), g.Dir, g.Device, g.Link, g.Field})
	}
	for _, d := range r.Denied {
		out.Denied = append(out.Denied, denied{d.Path, d.Missing, d.Dir, d.Pattern, d.Field, d.Closed})
	}
	return out
}
