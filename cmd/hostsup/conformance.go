package main

import (
	"context"
	"errors"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/conformance"
)

// conformanceOptions holds the flags of conformance.
type conformanceOptions struct {
	transport string
	format    string
	rules     string
	timeout   time.Duration
	strict    bool
	required  bool
	all       bool // details of every rule
}

func (a *app) conformanceVerb() *cobra.Command {
	var o conformanceOptions
	cmd := &cobra.Command{
		Use:   "conformance [FLAG…] [--] CMD [ARG…]",
		Short: "Play the rules of hostsup's protocol against a host",
		Long: `Play the rules of hostsup's protocol, which docs/protocol.md numbers, against the
host that the command starts: a process for each rule, which is ended with all that
it has started. For a rule that is not kept it prints what was sent, expected and got.

Rules that take a capability or one of the conformance/ methods of that page are skipped
for hosts without. Advised rules are those that a host may leave out; they are printed,
and fail with --strict only.

The exit code is 0 when every rule that was played is kept, and 1 when one is broken.`,
		Example: `  hostsup conformance -- node host.js
  hostsup conformance --transport all --format junit -- python3 host.py
  hostsup conformance --rule 'S*' --verbose -- hostsup demo-host`,
		Args: args(1, -1, "CMD"),
		RunE: func(cmd *cobra.Command, command []string) error { return a.conformance(cmd.Context(), &o, command) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // words after the command are its arguments
	f.StringVar(&o.transport, "transport", "fd", "how the host is connected: `NAME` is fd, stdio, unix or all")
	f.StringVar(&o.format, "format", "text", "how the results are printed: `NAME` is text, json or junit")
	f.StringVar(&o.rules, "rule", "", "only rules whose number matches `GLOB`, such as S3 or 'A*'")
	f.DurationVar(&o.timeout, "timeout", conformance.DefaultTimeout, "how long a message that must come is waited for")
	f.BoolVar(&o.strict, "strict", false, "fail for advised rules that are not kept too")
	f.BoolVar(&o.required, "required", false, "leave advised rules out")
	f.BoolVarP(&o.all, "verbose", "v", false, "print what was sent, expected and got for every rule")
	for name, values := range map[string][]string{"transport": append(conformance.Transports(), "all"), "format": {"text", "json", "junit"}} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

func (a *app) conformance(ctx context.Context, o *conformanceOptions, command []string) error {
	if err := unsupported("conformance", runtime.GOOS); err != nil {
		return err
	}
	if o.strict && o.required {
		return usagef("--strict and --required are opposites")
	}
	if o.timeout <= 0 {
		return usagef("--timeout %v is not more than 0", o.timeout)
	}
	options := conformance.Options{Command: command, Rules: o.rules, Required: o.required, Timeout: o.timeout, Transports: []string{o.transport}}
	if o.transport == "all" {
		options.Transports = conformance.Transports()
	}
	switch o.format {
	case "text":
		options.Done = func(r conformance.Result) {
			for line := range strings.Lines(r.Text(o.all)) {
				a.out.line(show.Clean(strings.TrimSuffix(line, "\n")))
			}
		}
	case "json", "junit":
	default:
		return usagef("--format %q is not known, there are text, json and junit", o.format)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	report, err := conformance.Run(ctx, options)
	switch {
	case errors.Is(err, conformance.ErrTransport), errors.Is(err, conformance.ErrNoRule):
		return usagef("%v", err)
	case err != nil:
		return err
	}
	switch o.format {
	case "json":
		err = report.WriteJSON(a.out)
	case "junit":
		err = report.WriteJUnit(a.out, o.strict)
	default:
		a.out.line(report.Summary())
	}
	if err == nil && report.Failed(o.strict) {
		err = &printed{exitFailed}
	}
	return err
}
