package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func (a *app) statusVerb() *cobra.Command {
	var check, pid bool
	cmd := &cobra.Command{
		Use:   "status [HOST|GROUP…]",
		Short: "Show the hosts and their states, and the exec servers",
		Long: `Show the hosts and their states, and the exec servers with their sessions and
what runs in them. The name of a host, a group or an exec server shows that one
alone, and more of it.

UPTIME is the age of the process, PID is the process as kill takes it.`,
		Example: `  hostsup status
  hostsup status math
  hostsup status --check || echo something is wrong
  kill -9 "$(hostsup status math --pid)"`,
		Args:              args(0, -1, "HOST"),
		ValidArgsFunction: a.completeHosts(-1),
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case pid && len(names) == 0:
				return usagef("--pid needs the name of a host")
			case pid && (check || a.json):
				return usagef("--pid goes with neither --check nor --json")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			st, err := c.Status(cmd.Context(), names...)
			if err != nil {
				return err
			}
			if pid {
				return a.pids(st)
			}
			if err := a.status(st, len(names) > 0); err != nil || !check {
				return err
			}
			return a.check(st)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	cmd.Flags().BoolVar(&check, "check", false, "exit 1 unless all is well: hosts that start by themselves run, unless a person stopped them; no host has failed, is unresponsive or is between two lives; exec servers listen")
	cmd.Flags().BoolVar(&pid, "pid", false, "print nothing but the process id of each host named; exit 1 when one has no process")
	return cmd
}

// status prints st; named selects the full form.
func (a *app) status(st *supervisor.Status, named bool) error {
	if a.json {
		a.out.jsonDocument(st)
		return nil
	}
	scr := screen(a.out)
	if err := scr.Status(a.out, st); err != nil {
		return err
	}
	servers, err := part.Statuses(st)
	if err != nil {
		return err
	}
	if err := scr.Sessions(a.out, servers, named); err != nil || !named {
		return err
	}
	if err := scr.Figures(a.out, st.Hosts); err != nil {
		return err
	}
	return scr.Sandboxes(a.out, st.Hosts)
}

// check returns an error that lists what is not well.
func (a *app) check(st *supervisor.Status) error {
	var lines []string
	for _, h := range st.Hosts {
		if line := show.Unwell(h); line != "" {
			lines = append(lines, line)
		}
	}
	servers, err := part.Statuses(st)
	if err != nil {
		return err
	}
	for _, e := range servers {
		if line := show.UnwellServer(e); line != "" {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		fmt.Fprintln(a.errout, "hostsup:", line)
	}
	if lines != nil {
		return &printed{exitFailed}
	}
	return nil
}

// pids prints the process ids of hosts.
func (a *app) pids(st *supervisor.Status) error {
	for _, h := range st.Hosts {
		if h.PID == nil {
			class := control.Stopped
			if h.State == lifecycle.Failed {
				class = control.Failed
			}
			return &control.Error{Class: class, Host: h.Name, State: h.State, Message: fmt.Sprintf("host %q has no process: it is %s", h.Name, h.State)}
		}
	}
	for _, h := range st.Hosts {
		a.out.line(strconv.Itoa(*h.PID))
	}
	return nil
}
