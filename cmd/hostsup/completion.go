package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// completeWithin bounds the time that the Tab key takes.
const completeWithin = time.Second

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes verbs, flags and names of hosts and extensions in a shell",
		Long: `Print a script that completes verbs, flags and names of hosts and extensions.
SHELL is bash, zsh, fish or powershell.`,
		Example: `  source <(hostsup completion bash)
  hostsup completion fish > ~/.config/fish/completions/hostsup.fish`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, given []string) error {
			if err := args(1, 1, "SHELL")(cmd, given); err != nil {
				return err
			}
			if !slices.Contains(shells, given[0]) {
				return usagef("%q is not a shell that is known: bash, zsh, fish or powershell", given[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			root := cmd.Root()
			switch given[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			}
			return root.GenPowerShellCompletionWithDesc(a.out)
		},
	}
}

// completeHosts completes up to most names of hosts, -1 for any number.
func (a *app) completeHosts(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most >= 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		c, err := a.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		st, err := c.Status(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, h := range st.Hosts {
			if !slices.Contains(given, h.Name) {
				out = append(out, cobra.CompletionWithDesc(h.Name, string(h.State)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeCrashes(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	reports, err := c.Crashes(ctx, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, r := range slices.Backward(reports) { // the newest first
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Reason))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
