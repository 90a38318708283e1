package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) crashesVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "crashes [HOST]",
		Short:             "List the crash reports that are kept",
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			host := ""
			if len(given) > 0 {
				host = given[0]
			}
			return a.crashes(cmd.Context(), host)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	one := &cobra.Command{
		Use:               "show ID",
		Short:             "Print one crash report in full",
		Long:              "Print one crash report in full. The first characters of an ID do when there is only one that starts so.",
		Args:              args(1, 1, "ID"),
		ValidArgsFunction: a.completeCrashes,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.crash(cmd.Context(), given[0]) },
	}
	a.jsonFlag(one, "print one JSON document")
	cmd.AddCommand(one)
	return cmd
}

func (a *app) crashes(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	reports, err := c.Crashes(ctx, host)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		a.out.jsonDocument(reports)
	case len(reports) > 0:
		return screen(a.out).Crashes(a.out, reports)
	}
	return nil
}

func (a *app) crash(ctx context.Context, id string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	report, err := c.Crash(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(report)
		return nil
	}
	return screen(a.out).Crash(a.out, report)
}
