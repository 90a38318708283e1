package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
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
