package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
)

// exitChanges is the exit code of a plan that has something to do.
const exitChanges = 2

func (a *app) planVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what a reload would change",
		Long: `Show what a reload would change, and change nothing. The supervisor that runs
compares its hosts with its file, or with the one named by -c.

  ~  the host changes: it is restarted, or only the supervisor has to know
  >  the host moves to another group
  +  the host is added
  -  the host is stopped and removed
  =  hosts that are not touched
  *  what changes at once without any host
  !  what a reload leaves alone: it needs a new start of the supervisor

Exits 0 when there is nothing to do, and 2 when there are changes.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			path, vars, err := a.otherFile(a.config)
			if err != nil {
				return err
			}
			p, err := c.Plan(cmd.Context(), path, vars)
			if err != nil {
				return a.refused(err)
			}
			if err := a.applied(p); err != nil || !p.Plan.Changes() {
				return err
			}
			return &printed{exitChanges}
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) reloadVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Load the configuration again and change what differs",
		Long: `Have the supervisor load its file again, as SIGHUP does, with the variables that
it was started with. Hosts that are equal are not touched. A file that is not valid
changes nothing: the exit code is 3, and status says so until a valid one is loaded.
Hosts that were added by hostsup add stay.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.change(cmd.Context(), (*control.Client).Reload)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) addVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add FILE",
		Short: "Add the hosts of a file to those that run",
		Long: `Add the hosts of a file to those that run, without a change of the supervisor's own
file. They stay at a reload, unless the file then has a host of the same name, and are
gone with the supervisor. --var sets variables of FILE.`,
		Args: args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			path, vars, err := a.otherFile(given[0])
			if err != nil {
				return err
			}
			return a.change(cmd.Context(), func(c *control.Client, ctx context.Context) (*control.Applied, error) {
				return c.Add(ctx, path, vars)
			})
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) removeVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove HOST",
		Short: "Stop a host and take it out",
		Long: `Stop a host and take it out, without a change of the supervisor's file. A host that is
in the file comes back with the next reload.`,
		Args:              args(1, 1, "HOST"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.change(cmd.Context(), func(c *control.Client, ctx context.Context) (*control.Applied, error) {
				return c.Remove(ctx, given[0])
			})
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

// otherFile returns the absolute path of a file other than the supervisor's own, and its
// variables; "" if the flags name no file.
func (a *app) otherFile(path string) (string, map[string]string, error) {
	if path == "" {
		if len(a.vars) > 0 {
			return "", nil, usagef("--var goes with -c FILE: the supervisor's own file keeps the variables that it was started with")
		}
		return "", nil, nil
	}
	vars, err := config.ParseVars(a.vars)
	if err != nil {
		return "", nil, &usageError{text: err.Error()}
	}
	path, err = filepath.Abs(path)
	return path, vars, err
}

// change has the supervisor change something, and prints what it did.
func (a *app) change(ctx context.Context, do func(*control.Client, context.Context) (*control.Applied, error)) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	p, err := do(c, ctx)
	if err != nil {
		return a.refused(err)
	}
	if err := a.applied(p); err != nil {
		return err
	}
	for _, e := range p.Errors {
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(e))
	}
	if len(p.Errors) > 0 {
		return &printed{exitFailed}
	}
	return nil
}

// applied prints a plan.
func (a *app) applied(p *control.Applied) error {
	if a.json {
		a.out.jsonLine(p)
		return nil
	}
	return screen(a.out).Plan(a.out, p)
}

// refused prints the diagnostics of a file that is not valid, and returns the error to
// exit with.
func (a *app) refused(err error) error {
	var e *control.Error
	if errors.As(err, &e) && e.Diagnostics != "" && !a.json {
		for line := range strings.Lines(e.Diagnostics) {
			fmt.Fprintln(a.errout, show.Clean(strings.TrimRight(line, "\n")))
		}
	}
	return err
}
