package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// verbOf is the operation of a verb on one host.
type verbOf func(*control.Client, context.Context, string) (*record.HostStatus, error)

func (a *app) startVerb() *cobra.Command {
	return a.hostVerb("start", "Start hosts and wait until they run",
		"A host that has failed starts with a new crash window. What it depends on is started first.", (*control.Client).Start)
}

func (a *app) stopVerb() *cobra.Command {
	return a.hostVerb("stop", "Stop hosts and wait until they are stopped",
		"They stay down until a person starts them: calls, activation events and programs\nthat attach do not.", (*control.Client).Stop)
}

func (a *app) restartVerb() *cobra.Command {
	return a.hostVerb("restart", "Stop hosts, start them again and wait until they run", "", (*control.Client).Restart)
}

func (a *app) hostVerb(name, short, long string, do verbOf) *cobra.Command {
	if long != "" {
		long = short + ".\n" + long
	}
	cmd := &cobra.Command{
		Use: name + " HOST…", Short: short, Long: long,
		Args:              args(1, -1, "HOST"),
		ValidArgsFunction: a.completeHosts(-1),
		RunE: func(cmd *cobra.Command, hosts []string) error {
			return a.each(cmd.Context(), hosts, do)
		},
	}
	a.jsonFlag(cmd, "print the status of each host, or its error, as a line of JSON")
	return cmd
}

func (a *app) resetVerb() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "reset HOST… | --all",
		Short:             "Clear the crash window of hosts; failed hosts start again",
		ValidArgsFunction: a.completeHosts(-1),
		Args: func(cmd *cobra.Command, hosts []string) error {
			if all && len(hosts) > 0 {
				return usagef("either HOST or --all, not both")
			}
			if all {
				return nil
			}
			return args(1, -1, "HOST or --all")(cmd, hosts)
		},
		RunE: func(cmd *cobra.Command, hosts []string) error {
			return a.each(cmd.Context(), hosts, (*control.Client).Reset)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all hosts")
	a.jsonFlag(cmd, "print the status of each host, or its error, as a line of JSON")
	return cmd
}

// each runs do for hosts in order (or for all if there are none), reports each, and
// continues when one fails. It does nothing if one of the names is wrong.
func (a *app) each(ctx context.Context, hosts []string, do verbOf) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	st, err := c.Status(ctx, hosts...)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		for _, h := range st.Hosts {
			hosts = append(hosts, h.Name)
		}
	}
	for _, name := range hosts {
		if err := isHost(st, name); err != nil {
			return err
		}
	}
	code := exitDone
	for _, name := range hosts {
		h, err := do(c, ctx, name)
		if err != nil {
			code = max(code, a.report(err))
			continue
		}
		a.printHost(*h)
	}
	if code != exitDone {
		return &printed{code}
	}
	return nil
}

// isHost returns an error if st knows name as something other than a host.
func isHost(st *supervisor.Status, name string) error {
	if slices.ContainsFunc(st.Hosts, func(h record.HostStatus) bool { return h.Name == name }) {
		return nil
	}
	for _, g := range st.Groups {
		if g.Name == name {
			return usagef("%q is a group: name its hosts, which are %s", name, strings.Join(g.Hosts, ", "))
		}
	}
	if len(st.Hosts) > 0 && len(st.Parts) == 0 {
		names := make([]string, len(st.Hosts))
		for i, h := range st.Hosts {
			names[i] = h.Name
		}
		return usagef("%q has several instances: name one of %s", name, strings.Join(names, ", "))
	}
	return usagef("%q is an exec server: it starts and stops with the supervisor", name)
}

func (a *app) printHost(h record.HostStatus) {
	if a.json {
		a.out.jsonLine(h)
		return
	}
	a.out.line(screen(a.out).Host(h))
}

func (a *app) waitVerb() *cobra.Command {
	var states string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait HOST --state STATE[,STATE…]",
		Short: "Wait until a host is in one of some states",
		Long: fmt.Sprintf(`Wait until a host is in one of some states, or passes through one.
The states are %s.`, stateNames(", ")),
		Example:           "  hostsup wait math --state running,failed --timeout 10s",
		Args:              args(1, 1, "HOST"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			want, err := parseStates(states)
			if err != nil {
				return err
			}
			if timeout < 0 {
				return usagef("--timeout %v is negative", timeout)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			h, err := c.Wait(cmd.Context(), given[0], timeout, want...)
			if err != nil {
				return err
			}
			a.printHost(*h)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&states, "state", "", "the `STATE` to wait for, or several with commas between them")
	flags.DurationVar(&timeout, "timeout", 30*time.Second, "how long to wait; 0: for ever")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("state", completeStates))
	a.jsonFlag(cmd, "print the status of the host as a line of JSON")
	return cmd
}

func parseStates(text string) ([]lifecycle.State, error) {
	if text == "" {
		return nil, usagef("--state is missing: one of %s", stateNames(", "))
	}
	var out []lifecycle.State
	for name := range strings.SplitSeq(text, ",") {
		st := lifecycle.State(strings.TrimSpace(name))
		if !st.Valid() {
			return nil, usagef("%q is not a state: there are %s", name, stateNames(", "))
		}
		out = append(out, st)
	}
	return out, nil
}

func stateNames(between string) string {
	var names []string
	for _, st := range lifecycle.States() {
		names = append(names, string(st))
	}
	return strings.Join(names, between)
}
