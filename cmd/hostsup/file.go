package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/workbench"
)

func (a *app) fileVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "file",
		Short: "Show what extensions say of files beside their content",
		Long: `Show what the running hosts of VS Code say of files: what stands beside their names, how
they have changed, and what source control compares them with.`,
		Example: `  hostsup file decorations main.go README.md
  hostsup file timeline main.go
  hostsup file original main.go | diff - main.go`,
		Args: args(1, 1, "decorations, timeline or original"),
		RunE: func(_ *cobra.Command, given []string) error {
			return usagef("%q is not decorations, timeline or original", given[0])
		},
	}
	cmd.AddCommand(a.fileDecorationsVerb(), a.fileTimelineVerb(), a.fileOriginalVerb())
	return cmd
}

// aboutFiles finishes a verb about files, for which ask asks with the only host, or "".
func (a *app) aboutFiles(cmd *cobra.Command, ask func(ctx context.Context, c *control.Client, host string, files []workbench.URI) error) *cobra.Command {
	var host string
	a.hostFlag(cmd, &host, "ask only the extensions of this `HOST`")
	a.jsonFlag(cmd, "print one JSON document")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // files
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		var files []workbench.URI
		for _, name := range given {
			path, err := filepath.Abs(name)
			if err != nil {
				return err
			}
			files = append(files, workbench.File(path))
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		return ask(cmd.Context(), c, host, files)
	}
	return cmd
}

func (a *app) fileDecorationsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decorations FILE…",
		Short: "Show what extensions show beside the names of files",
		Args:  args(1, -1, "FILE…"),
	}
	return a.aboutFiles(cmd, func(ctx context.Context, c *control.Client, host string, files []workbench.URI) error {
		list, err := c.Decorations(ctx, host, files...)
		return showList(a, list, err, screen(a.out).Decorations, "no extension decorates the files")
	})
}

func (a *app) fileTimelineVerb() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "timeline FILE",
		Short: "Show how a file has changed, such as its commits, the latest first",
		Args:  args(1, 1, "FILE"),
	}
	cmd.Flags().IntVarP(&limit, "number", "n", 50, "ask each timeline for up to `N` changes")
	return a.aboutFiles(cmd, func(ctx context.Context, c *control.Client, host string, files []workbench.URI) error {
		if limit < 1 {
			return usagef("--number expects 1 or more")
		}
		list, err := c.Timeline(ctx, host, files[0], limit)
		return showList(a, list, err, screen(a.out).Timeline, "no timeline has the file")
	})
}

func (a *app) fileOriginalVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "original FILE",
		Short: "Print what source control compares a file with, such as that of the last commit",
		Args:  args(1, 1, "FILE"),
	}
	return a.aboutFiles(cmd, func(ctx context.Context, c *control.Client, host string, files []workbench.URI) error {
		list, err := c.Originals(ctx, host, files[0])
		switch {
		case err != nil:
			return err
		case a.json:
			a.out.jsonDocument(list)
			return nil
		case len(list) == 0:
			return &control.Error{Class: control.NoSuchSourceControl, Message: "no source control has an original of " + files[0].String()}
		case list[0].Text == nil:
			return &control.Error{Class: control.Internal, Message: list[0].URI + " cannot be read: " + list[0].Error}
		}
		_, err = io.WriteString(a.out, *list[0].Text)
		return err
	})
}
