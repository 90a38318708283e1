package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

func (a *app) activityVerb() *cobra.Command {
	var cancel string
	cmd := &cobra.Command{
		Use:   "activity [HOST]",
		Short: "Show what extensions have in the status bar, and their progress",
		Long: `Show what the extensions of hosts of VS Code have in the status bar and in the status
of languages, and the progress that is running. Progress with an ID can be canceled:
the extension is asked to end it.`,
		Example: `  hostsup activity
  hostsup activity --cancel p7xk2m4a`,
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeOneExtensionHost,
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case !cmd.Flags().Changed("cancel"):
				return a.activity(cmd.Context(), strings.Join(given, ""))
			case cancel == "" || len(given) > 0:
				return &usageError{text: "--cancel expects the ID of a progress, and no host"}
			}
			return a.cancelProgress(cmd.Context(), cancel)
		},
	}
	cmd.Flags().StringVar(&cancel, "cancel", "", "cancel the progress with this `ID`")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("cancel", a.completeProgress))
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) activity(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	now, err := c.Activity(ctx, host)
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(now)
	case len(now.Entries)+len(now.Progress) > 0:
		return screen(a.out).Activity(a.out, *now)
	default:
		fmt.Fprintln(a.errout, "hostsup: no extension shows a status or a progress")
	}
	return nil
}

func (a *app) cancelProgress(ctx context.Context, id string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	return c.CancelProgress(ctx, id)
}

// completeProgress completes the id of a progress that can be canceled.
func (a *app) completeProgress(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	now, err := c.Activity(ctx, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, p := range now.Progress {
		if p.Cancelable {
			out = append(out, cobra.CompletionWithDesc(p.ID, show.Clean(show.ProgressText(p))))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeOneExtensionHost completes the only argument: a host that has extensions.
func (a *app) completeOneExtensionHost(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeExtensionHosts(cmd, given, prefix)
}
