package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/workbench/views"
)

// viewFlags are the flags of hostsup views.
type viewFlags struct {
	action  string
	items   []string
	depth   int
	handles bool
}

func (a *app) viewsVerb() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "views [HOST [VIEW]]",
		Short: "Show the trees of extensions, and act in them",
		Long: `List the views with trees that the extensions of hosts of VS Code have registered, or
show the items of one: - stands before an expanded item, + before a collapsed one. An
extension is activated for its view if it has not registered it yet.

--do does what a user does in a view: show and hide change whether extensions see it as
visible; expand, collapse, select, check, uncheck and run need --item with the handle of
an item, which --handles prints. run executes the command of the item. --item alone shows
an item with its tooltip, and the items below it.`,
		Example: `  hostsup views
  hostsup views code references-view.tree --depth 2
  hostsup views code npm --handles
  hostsup views code npm --do run --item '0/0:package.json/0:test'`,
		Args:              args(0, 2, "[HOST [VIEW]]"),
		ValidArgsFunction: a.completeViews,
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 2 {
				return a.view(cmd, given[0], given[1], f)
			}
			for _, name := range []string{"do", "item", "depth", "handles"} {
				if cmd.Flags().Changed(name) {
					return &usageError{text: "--" + name + " expects a HOST and a VIEW"}
				}
			}
			return a.views(cmd.Context(), strings.Join(given, ""))
		},
	}
	cmd.Flags().StringVar(&f.action, "do", "", "do this `ACTION`: "+strings.Join(actionNames(), ", "))
	cmd.Flags().StringArrayVar(&f.items, "item", nil, "the `HANDLE` of an item; several for --do")
	cmd.Flags().IntVar(&f.depth, "depth", 0, "show `N` levels below collapsed items, too")
	cmd.Flags().BoolVar(&f.handles, "handles", false, "print the handles of items")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("do", cobra.FixedCompletions(actionNames(), cobra.ShellCompDirectiveNoFileComp)))
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func actionNames() (names []string) {
	for _, action := range views.Actions() {
		names = append(names, string(action))
	}
	return names
}

func (a *app) views(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Views(ctx, host)
	return showList(a, list, err, screen(a.out).Views, "no extension has registered a view")
}

func (a *app) view(cmd *cobra.Command, host, id string, f viewFlags) error {
	switch {
	case f.action == "" && cmd.Flags().Changed("do"):
		return &usageError{text: "--do expects one of " + strings.Join(actionNames(), ", ")}
	case f.action == "" && len(f.items) > 1:
		return &usageError{text: "one --item is expected without --do"}
	case f.depth < 0:
		return &usageError{text: "--depth expects 0 or more"}
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	if f.action != "" {
		return c.ActInView(cmd.Context(), host, id, views.Action(f.action), f.items...)
	}
	tree, err := c.ReadView(cmd.Context(), views.Query{Host: host, View: id, Item: strings.Join(f.items, ""), Depth: f.depth})
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(tree)
		return nil
	}
	return screen(a.out).Tree(a.out, *tree, f.handles)
}

// completeViews completes a host, and then one of its views.
func (a *app) completeViews(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) != 1 {
		return a.completeOneExtensionHost(cmd, given, prefix)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.Views(ctx, given[0]) // without a list nothing is completed
	var out []cobra.Completion
	for _, v := range list {
		out = append(out, cobra.CompletionWithDesc(v.ID, show.Clean(show.ViewText(v))))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
