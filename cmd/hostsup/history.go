package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/capture"
)

func (a *app) eventsVerb() *cobra.Command {
	var follow bool
	var messages string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print one line per change of a state",
		Long: `Print one line per change of a state. With --messages, print what a host says
by itself instead: each notification and request it makes from now on.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if messages != "" {
				return a.messages(cmd.Context(), messages)
			}
			return a.events(cmd.Context(), follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new ones")
	cmd.Flags().StringVar(&messages, "messages", "", "follow the messages that this `HOST` sends by itself instead")
	a.jsonFlag(cmd, "print a line of JSON each")
	return cmd
}

func (a *app) events(ctx context.Context, follow bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	st, err := c.Status(ctx) // for the width of the names
	if err != nil {
		return err
	}
	names := make([]string, len(st.Hosts))
	for i, h := range st.Hosts {
		names[i] = h.Name
	}
	width, scr := show.NameWidth(names), screen(a.out)
	for ev, err := range c.Events(ctx, follow) {
		switch {
		case err != nil:
			return err
		case a.json && ev.Lost > 0:
			a.out.jsonLine(map[string]uint64{"lost": ev.Lost})
		case a.json:
			a.out.jsonLine(ev)
		case ev.Lost > 0:
			fmt.Fprintf(a.errout, "hostsup: %d %s missed here\n", ev.Lost, show.Plural(int(ev.Lost), "event was", "events were"))
		default:
			a.out.line(scr.Event(ev, width))
		}
		if a.out.err != nil {
			break
		}
	}
	return nil
}

// messages follows the messages that a host sends by itself.
func (a *app) messages(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	scr := screen(a.out)
	for m, err := range c.Messages(ctx, host) {
		switch {
		case err != nil:
			return err
		case a.json && m.Lost > 0:
			a.out.jsonLine(map[string]uint64{"lost": m.Lost})
		case a.json:
			a.out.jsonLine(m)
		case m.Lost > 0:
			fmt.Fprintf(a.errout, "hostsup: %d %s missed here\n", m.Lost, show.Plural(int(m.Lost), "message was", "messages were"))
		default:
			a.out.line(scr.Message(m.Time, m.Kind, m.Method, m.Params))
		}
		if a.out.err != nil {
			break
		}
	}
	return nil
}

func (a *app) logsVerb() *cobra.Command {
	var follow bool
	var n int
	cmd := &cobra.Command{
		Use:   "logs HOST",
		Short: "Print what a host has printed",
		Long: `Print what a host has written to its standard output and standard error. In a
terminal each line has its time and stream; piped on, it is as it was printed.`,
		Args:              args(1, 1, "HOST"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if n < 0 {
				return usagef("-n %d is negative", n)
			}
			return a.logs(cmd.Context(), given[0], n, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new ones")
	cmd.Flags().IntVarP(&n, "lines", "n", 200, "how many of the last lines to start with")
	a.jsonFlag(cmd, "print a line of JSON each")
	return cmd
}

func (a *app) logs(ctx context.Context, host string, n int, follow bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	scr := screen(a.out)
	for ln, err := range c.Logs(ctx, host, n, follow) {
		if err != nil {
			return err
		}
		if a.json {
			a.out.jsonLine(ln)
		} else {
			a.printLine(scr, host, ln)
		}
		if a.out.err != nil {
			break
		}
	}
	return nil
}

// printLine keeps remarks of the supervisor out of piped output.
func (a *app) printLine(scr show.Screen, host string, ln capture.Line) {
	if ln.Lost > 0 {
		fmt.Fprintf(a.errout, "hostsup: %s: %d %s missed here\n", show.Clean(host), ln.Lost, show.Plural(int(ln.Lost), "line was", "lines were"))
	}
	if ln.Stream == capture.Note && !scr.Terminal {
		fmt.Fprintf(a.errout, "hostsup: %s: %s\n", show.Clean(host), show.Clean(ln.Text))
		return
	}
	a.out.line(scr.Line(ln))
}
