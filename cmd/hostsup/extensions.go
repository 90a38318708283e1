package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/extensions"
)

func (a *app) activateVerb() *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use:   "activate EVENT",
		Short: "Request an activation event of the extensions of hosts",
		Long: `Request an activation event, as an editor does when a file is opened or a command
is run, and wait until the extensions that want it are active or have failed. The
hosts that they live in are started. Those that became active by it are printed.

One that is still being activated after a minute (six times the startup of its
host's extensions block) is an error that names it. Its activation goes on.`,
		Example: `  hostsup activate onLanguage:go
  hostsup activate onCommand:hello.greet --host code`,
		Args:              args(1, 1, "EVENT"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.activate(cmd.Context(), host, given[0])
		},
	}
	a.hostFlag(cmd, &host, "request it of this `HOST` only; else of every host that it concerns")
	a.jsonFlag(cmd, "print those that became active as one JSON document")
	return cmd
}

// hostFlag adds --host to a verb.
func (a *app) hostFlag(cmd *cobra.Command, host *string, what string) {
	cmd.Flags().StringVar(host, "host", "", what)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("host", a.completeExtensionHosts))
}

func (a *app) activate(ctx context.Context, host, event string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Activate(ctx, host, event)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		all, err := c.Extensions(ctx, host)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.errout, "hostsup: no extension was activated by %q: %s\n", event, show.Idle(all))
	}
	if a.json {
		a.out.jsonDocument(list)
		return nil
	}
	for _, e := range list {
		a.out.line(screen(a.out).Extension(e))
	}
	return nil
}

func (a *app) extensionsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extensions [HOST]",
		Short: "List the extensions of hosts, their locations, and the evidence against them",
		Long: `List the extensions of hosts: in which host each lives, its state, how long its
activation took, in how many crashes it was a suspect, and why it is where it is.`,
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeOneExtensionHost,
		RunE: func(cmd *cobra.Command, given []string) error {
			host := ""
			if len(given) > 0 {
				host = given[0]
			}
			return a.extensions(cmd.Context(), host)
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) extensions(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Extensions(ctx, host)
	empty := "no host has extensions"
	if host != "" {
		empty = fmt.Sprintf("host %q has no extensions: none was found in its folders", show.Clean(host))
	}
	return showList(a, list, err, screen(a.out).Extensions, empty)
}

// showList prints a list that was asked for, unless err says why it did not come: for people or, with
// --json, as one document. empty says on stderr that it is empty.
func showList[T any](a *app, list []T, err error, people func(io.Writer, []T) error, empty string) error {
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(list)
	case len(list) > 0:
		return people(a.out, list)
	default:
		fmt.Fprintln(a.errout, "hostsup: "+empty)
	}
	return nil
}

func (a *app) extensionVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extension",
		Short: "Enable, disable, isolate, install or remove an extension, or look for new ones",
		Long: `Say what is to be done with one extension, which holds until the supervisor ends
or another is said; look for those that were added, replaced or removed; or install
and remove them.`,
		Example: `  hostsup extension isolate golang.go
  hostsup extension release golang.go
  hostsup extension rescan
  hostsup extension install ./words.vsix
  hostsup extension rollback acme.words`,
		Args: noSuchVerb,
		RunE: noVerb,
	}
	cmd.AddCommand(
		a.oneExtensionVerb(extensions.Enable, "Allow an extension to be activated again", "Activation events requested meanwhile activate it now."),
		a.oneExtensionVerb(extensions.Disable, "Deactivate an extension, and do not activate it again", ""),
		a.oneExtensionVerb(extensions.Isolate, "Give an extension a host of its own", "Extensions that depend on it move with it."),
		a.oneExtensionVerb(extensions.Release, "Move an extension back from a host of its own", "Also one that was isolated for its crashes."),
		a.rescanVerb(),
		a.installVerb(),
		a.uninstallVerb(),
		a.rollbackVerb(),
		a.listInstalledVerb(),
	)
	return cmd
}

func (a *app) rescanVerb() *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use:   "rescan",
		Short: "Read the folders of extensions again",
		Long: `Read the folders of extensions again. Those that were added, replaced or
removed since are printed, and count from now on. A host is told of them while it
runs; where one has begun to be activated that was replaced or removed, its host is
restarted, and the others in it come back.`,
		Example: `  hostsup extension rescan
  hostsup extension rescan --host code`,
		Args:              args(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.rescan(cmd.Context(), host)
		},
	}
	a.hostFlag(cmd, &host, "read the folders of this `HOST` only; else of every host that has some")
	a.jsonFlag(cmd, "print the differences as one JSON document")
	return cmd
}

func (a *app) rescan(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.RescanExtensions(ctx, host)
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(list)
		return nil
	case len(list) == 0:
		a.out.line("nothing has changed")
	}
	a.differences(list)
	return nil
}

// differences prints the changes of a rescan.
func (a *app) differences(list []extensions.Difference) {
	for _, d := range list {
		a.out.line(show.Clean(d.Host) + ": " + show.Clean(d.String()))
	}
}

func (a *app) oneExtensionVerb(verb extensions.Verb, short, more string) *cobra.Command {
	long := short + "."
	if more != "" {
		long += " " + more
	}
	var host string
	cmd := &cobra.Command{
		Use: string(verb) + " ID", Short: short, Long: long,
		Args:              args(1, 1, "ID"),
		ValidArgsFunction: a.completeExtensions,
		RunE: func(cmd *cobra.Command, given []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.SetExtension(cmd.Context(), host, given[0], verb)
			if err != nil {
				return err
			}
			for _, e := range list {
				if a.json {
					a.out.jsonLine(e)
				} else {
					a.out.line(screen(a.out).Extension(e))
				}
			}
			return nil
		},
	}
	a.hostFlag(cmd, &host, "the one of this `HOST` only; else of every host that has it")
	a.jsonFlag(cmd, "print its new status as a line of JSON, for each host")
	return cmd
}

// known returns the extensions for a completion.
func (a *app) known(cmd *cobra.Command, host string) []extensions.Status {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil
	}
	list, err := c.Extensions(ctx, host)
	if err != nil {
		return nil
	}
	return list
}

func (a *app) completeExtensions(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if len(given) == 0 {
		host, err := cmd.Flags().GetString("host")
		cobra.CheckErr(err) // every verb that completes ids has the flag
		for _, e := range a.known(cmd, host) {
			out = append(out, cobra.CompletionWithDesc(e.ID, e.State))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeExtensionHosts completes the names of hosts that have extensions.
func (a *app) completeExtensionHosts(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, e := range a.known(cmd, "") {
		if !slices.Contains(out, e.Host) {
			out = append(out, e.Host)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
