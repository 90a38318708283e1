package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

// logsOfChannel prints the lines of an output channel of a host.
func (a *app) logsOfChannel(ctx context.Context, host, channel string, n int, follow, plain bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	return a.logsOf(a.logScreen(plain), host, c.ChannelLogs(ctx, host, channel, n, follow))
}

// channels lists the output channels of a host.
func (a *app) channels(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Channels(ctx, host)
	return showList(a, list, err, screen(a.out).Channels, fmt.Sprintf("extensions of host %q have made no output channel yet", show.Clean(host)))
}

// completeChannels completes the name of an output channel of the host that is given.
func (a *app) completeChannels(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.Channels(ctx, given[0]) // without a list nothing is completed
	var out []cobra.Completion
	for _, ch := range list {
		out = append(out, cobra.CompletionWithDesc(ch.Name, ch.Extension))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
