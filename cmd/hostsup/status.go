package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func (a *app) statusVerb() *cobra.Command {
	var check, pid bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "status [HOST|GROUP…]",
		Short: "Show the hosts and their states, and the exec servers",
		Long: `Show the hosts and their states, and the exec servers with their sessions and
what runs in them. The name of a host, a group or an exec server shows that one
alone, and more of it.

PID is the process as kill takes it, UPTIME its age. MEM and CPU are those of the
process and of all that it has started, RESTARTS counts the lives that a rule of
the host or of its group has started.

--watch shows the status again each second, or at the interval --watch=5s, until
Ctrl-C; with --check the exit code is that of the last one.`,
		Example: `  hostsup status
  hostsup status math
  hostsup status --watch
  hostsup status --check || echo something is wrong
  kill -9 "$(hostsup status math --pid)"`,
		Args:              args(0, -1, "HOST"),
		ValidArgsFunction: a.completeStatus,
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case pid && len(names) == 0:
				return usagef("--pid needs the name of a host")
			case pid && (check || a.json || every != 0):
				return usagef("--pid goes with none of --check, --json and --watch")
			case every < 0:
				return usagef("--watch needs an interval above 0")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			get := func(ctx context.Context) (*supervisor.Status, error) { return c.Status(ctx, names...) }
			var st *supervisor.Status
			if every > 0 {
				st, err = a.watch(cmd.Context(), every, get, len(names) > 0)
			} else if st, err = get(cmd.Context()); err == nil && !pid {
				err = a.show(st, len(names) > 0)
			}
			switch {
			case err != nil:
				return err
			case pid:
				return a.pids(st)
			case check:
				return a.check(st)
			}
			return nil
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	cmd.Flags().BoolVar(&check, "check", false, "exit 1 unless all is well: hosts that start by themselves run, unless a person stopped them, and jobs are running or done; no host has failed, nor the last run of one with a schedule, is unresponsive or is between two lives; exec servers listen")
	cmd.Flags().DurationVarP(&every, "watch", "w", 0, "show it again each `INTERVAL` until Ctrl-C; alone: each second")
	cmd.Flags().Lookup("watch").NoOptDefVal = "1s"
	cmd.Flags().BoolVar(&pid, "pid", false, "print nothing but the process id of each host named; exit 1 when one has no process")
	return cmd
}

// show prints st.
func (a *app) show(st *supervisor.Status, named bool) error {
	if a.json {
		a.out.jsonDocument(st)
		return nil
	}
	return a.status(a.out, st, named)
}

// status writes st to w as the text for standard output; named selects the full form.
func (a *app) status(w io.Writer, st *supervisor.Status, named bool) error {
	scr := screen(a.out)
	if err := scr.Status(w, st); err != nil {
		return err
	}
	servers, err := part.Statuses(st)
	if err != nil {
		return err
	}
	if err := scr.Sessions(w, servers, named); err != nil || !named {
		return err
	}
	if err := scr.Figures(w, st.Hosts); err != nil {
		return err
	}
	return scr.Sandboxes(w, st.Hosts)
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
