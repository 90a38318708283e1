package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

func (a *app) scmVerb() *cobra.Command {
	var id, message string
	var accept bool
	cmd := &cobra.Command{
		Use:   "scm [HOST]",
		Short: "Show the source control of extensions, and commit",
		Long: `Show the files that the source control of extensions of VS Code lists as changed, such as
those of git. --message writes the message of the source control that --id names, as a
user does in its input box; --accept executes its command, which commits with most.`,
		Example: `  hostsup scm code
  hostsup scm --id code.1.0 --message 'fix the build' --accept`,
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeOneExtensionHost,
		RunE: func(cmd *cobra.Command, given []string) error {
			writes := cmd.Flags().Changed("message")
			switch {
			case id == "" && !writes && !accept && !cmd.Flags().Changed("id"):
				return a.sourceControls(cmd.Context(), strings.Join(given, ""))
			case id == "" || len(given) > 0 || !writes && !accept:
				return &usageError{text: "--id ID with --message or --accept is expected, and no host"}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			text := &message
			if !writes {
				text = nil
			}
			return c.WriteSourceControl(cmd.Context(), id, text, accept)
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of a source control")
	cmd.Flags().StringVar(&message, "message", "", "write this `TEXT` into the input box")
	cmd.Flags().BoolVar(&accept, "accept", false, "execute the command for the message")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("id", a.completeSourceControl))
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) sourceControls(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.SourceControls(ctx, host)
	return showList(a, list, err, screen(a.out).SourceControls, "no extension has a source control")
}

// completeSourceControl completes the id of a source control.
func (a *app) completeSourceControl(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.SourceControls(ctx, "") // without a list nothing is completed
	var out []cobra.Completion
	for _, one := range list {
		out = append(out, cobra.CompletionWithDesc(one.ID, show.Clean(one.Label+" "+one.Root)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
