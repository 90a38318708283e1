package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	var file string
	cmd := &cobra.Command{
		Use:   "explain [--policy FILE | --profile NAME] [--] [CMD [ARG…]]",
		Short: "Show what a policy comes to here, or the smallest that a command needs",
		Long: `Without a policy, run a command as it is, watched, and print the smallest policy
that it needed. With a policy, run it confined and print that policy with
what it lacks.
With a policy and no command, print what the policy comes to on this machine:
what is granted, and which files its patterns deny.

The policy goes to standard output or to the file named by --output; the
command's own standard output goes to standard error unless there is --output.
What is watched can be changed by the command right after: read the policy
before it is used on what is not trusted.`,
		Example: `  hostsup sandbox explain -- node script.js > policy.hcl
  hostsup sandbox explain --profile node --read . -- node script.js
  hostsup sandbox explain --policy policy.hcl`,
		Args: args(0, -1, "CMD"),
		RunE: func(cmd *cobra.Command, command []string) error {
			if len(command) == 0 && !c.given() {
				return usagef("a command is missing, or a policy")
			}
			return a.sandboxExplain(cmd.Context(), &c, command, file)
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the policy to `FILE`")
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
		if weak != nil {
			fmt.Fprintf(a.errout, "hostsup: sandbox: %s\n", show.Clean(weak.Error()))
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
	if !c.given() {
		cmd.Policy = nil // it runs as it is
	}
	cmd.Files = []*os.File{fileOf(a.in), fileOf(a.errout), fileOf(a.errout)}
	if file != "" {
		cmd.Files[1] = fileOf(a.out)
	}
	found, err := explain(ctx, cmd)
	if err != nil {
		return a.confineError(err)
	}
	found.confined, found.command = c.given(), command
	text := found.text()
	if a.json {
		if text, err = found.json(); err != nil {
			return err
		}
	}
	if file != "" {
		return os.WriteFile(file, []byte(text), 0o666)
	}
	_, err = io.WriteString(a.out, text)
	return err
}

// explained is what a run needed.
type explained struct {
	command  []string
	confined bool
	needed   policy.Policy
	denials  []denial.Denial
	exit     sandbox.Exit
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
		err = nil // what was found so far is what was asked for
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	return &e, nil
}

// text is a policy file with what led to it as comments.
func (e *explained) text() string {
	var b strings.Builder
	comment := func(format string, args ...any) {
		fmt.Fprintf(&b, "# %s\n", show.Clean(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")))
	}
	how := "exited with " + fmt.Sprint(e.exit.Code)
	if e.exit.Signal != 0 {
		how = "was " + show.Signal(e.exit.Signal)
	}
	comment("%s %s.", strings.Join(e.command, " "), how)
	switch {
	case !e.confined:
		comment("The smallest policy that it needed, as far as this run went:")
	case len(e.denials) == 0:
		comment("It was denied nothing. The policy:")
	default:
		comment("It was denied:")
		for _, d := range e.denials {
			comment("  %s", d.String())
		}
		comment("The policy with what would have spared that:")
	}
	b.WriteString(config.FormatPolicy(e.needed, policy.Limits{}))
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
		"policy": config.FormatPolicy(e.needed, policy.Limits{}),
	})
	return b.String(), out.err
}

// resolvedJSON is what a policy comes to, for scripts.
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
		out.Denied = append(out.Denied, denied{d.Path, d.Missing, d.Dir, d.Pattern, d.Field})
	}
	return out
}
