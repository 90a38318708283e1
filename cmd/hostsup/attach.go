package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) attachVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "attach HOST",
		Short: "Make standard input and output a client of a host",
		Long: `Make standard input and output a client of a supervised language server or MCP
server. Where an editor or an agent is told to run "pyright-langserver --stdio",
tell it to run "hostsup attach pyright" instead: it gets a server that is started
again when it crashes, and does not notice but for the requests that were lost.

Several clients can attach to one host. It ends when its input ends, or when the
client says exit.`,
		Args:              args(1, 1, "HOST"),
		ValidArgsFunction: a.completeHosts(1),
		RunE:              func(cmd *cobra.Command, given []string) error { return a.attach(cmd.Context(), given[0]) },
	}
}

func (a *app) attach(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	return c.Attach(ctx, host, a.in, a.out.w)
}
