package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// completeWithin bounds the time that the Tab key takes.
const completeWithin = time.Second

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes verbs, flags and live names in a shell",
		Long: `Print a script that completes verbs, flags, and names that the supervisor knows
at that moment: hosts, groups, exec servers, extensions, crash reports, secrets and
states. SHELL is bash, zsh, fish or powershell.`,
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

// completeStatus completes names of hosts, groups and exec servers.
func (a *app) completeStatus(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	st := a.statusToComplete(cmd.Context())
	if st == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.Clone(given)
	var out []cobra.Completion
	add := func(name, what string) {
		if !slices.Contains(names, name) { // a lone host has its group's name
			names = append(names, name)
			out = append(out, cobra.CompletionWithDesc(name, what))
		}
	}
	for _, h := range st.Hosts {
		add(h.Name, string(h.State))
	}
	for _, g := range st.Groups {
		add(g.Name, "group")
	}
	servers, _ := part.Statuses(st) // this program made them
	for _, s := range servers {
		add(s.Name, "exec server")
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeStates completes the last of several states with commas between them.
func completeStates(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := prefix[:strings.LastIndexByte(prefix, ',')+1]
	var out []cobra.Completion
	for _, st := range lifecycle.States() {
		if !slices.Contains(strings.Split(before, ","), string(st)) {
			out = append(out, before+string(st))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRest gives verbs and flags without completions of their own those that follow
// from how they are written: names of hosts for a flag that takes a HOST, and no files
// for a verb without arguments and for a number or a duration.
func (a *app) completeRest(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		a.completeRest(sub)
	}
	if !strings.ContainsRune(cmd.Use, ' ') && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok || f.Annotations[cobra.BashCompFilenameExt] != nil {
			return
		}
		takes, _ := pflag.UnquoteUsage(f)
		switch {
		case takes == "HOST":
			cobra.CheckErr(cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return a.completeHosts(-1)(cmd, nil, prefix)
			}))
		case slices.Contains([]string{"duration", "int", "uint", "float64"}, f.Value.Type()):
			cobra.CheckErr(cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions))
		}
	})
}

// statusToComplete returns the status of the supervisor, nil if it does not answer soon.
func (a *app) statusToComplete(ctx context.Context) *supervisor.Status {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil
	}
	st, err := c.Status(ctx)
	if err != nil {
		return nil
	}
	return st
}

// completeHosts completes up to most names of hosts, -1 for any number.
func (a *app) completeHosts(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most >= 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		st := a.statusToComplete(cmd.Context())
		if st == nil {
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
