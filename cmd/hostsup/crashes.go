package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/lifecycle/record"
)

func (a *app) crashesVerb() *cobra.Command {
	groups := false
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
			return a.crashes(cmd.Context(), host, groups)
		},
	}
	cmd.Flags().BoolVar(&groups, "groups", false, "a line for each kind of crash: those with the same stack or the same last words")
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

func (a *app) crashes(ctx context.Context, host string, groups bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	if a.json && !groups {
		reports, err := c.Crashes(ctx, host)
		if err == nil {
			a.out.jsonDocument(reports)
		}
		return err
	}
	index, err := c.CrashIndex(ctx, host)
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(index.Groups)
	case len(index.Crashes) == 0:
	case groups:
		return screen(a.out).CrashGroups(a.out, index.Groups)
	default:
		return screen(a.out).Crashes(a.out, index.Crashes, index.Groups)
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
	alike := ""
	if index, err := c.CrashIndex(ctx, ""); err == nil { // the report says all else without it
		alike = screen(a.out).Alike(index.Groups, evidence.Summarize([]record.CrashReport{*report})[0].Likeness.Key)
	}
	return screen(a.out).Crash(a.out, report, alike)
}
