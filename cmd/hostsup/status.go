package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/lifecycle"
)

func (a *app) statusVerb() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "status [HOST…]",
		Short: "Show the hosts and their states, and the exec servers",
		Long: `Show the hosts and their states, and the exec servers with their sessions and
what runs in them. A name of either shows that one alone, and more of it.`,
		Args:              args(0, -1, "HOST"),
		ValidArgsFunction: a.completeHosts(-1),
		RunE: func(cmd *cobra.Command, hosts []string) error {
			return a.status(cmd.Context(), hosts, check)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	cmd.Flags().BoolVar(&check, "check", false, "exit 1 when one of the hosts has failed")
	return cmd
}

func (a *app) status(ctx context.Context, hosts []string, check bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	st, err := c.Status(ctx, hosts...)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(st)
	} else if err := screen(a.out).Status(a.out, st); err != nil {
		return err
	} else if err := screen(a.out).Sessions(a.out, st.ExecServers, len(hosts) > 0); err != nil {
		return err
	} else if len(hosts) > 0 { // these in full
		if err := screen(a.out).Figures(a.out, st.Hosts); err != nil {
			return err
		}
		if err := screen(a.out).Sandboxes(a.out, st.Hosts); err != nil {
			return err
		}
	}
	for _, h := range st.Hosts {
		if check && h.State == lifecycle.Failed {
			return &told{exitFailed}
		}
	}
	return nil
}
