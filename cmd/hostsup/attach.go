package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/control"
)

func (a *app) attachVerb() *cobra.Command {
	var o aloneOptions
	var in instanceFlags
	cmd := &cobra.Command{
		Use:   "attach (HOST [--key KEY [--set NAME=SOURCE…]] | [FLAG…] -- CMD [ARG…])",
		Short: "Make standard input and output a client of a host",
		Long: `Make standard input and output a client of a supervised language server or MCP
server. Where an editor or an agent is told to run "pyright-langserver --stdio",
tell it to run "hostsup attach pyright" instead: it gets a server that is started
again when it crashes, and does not notice but for the requests that were lost.

Several clients can attach to one host. It ends when its input ends, or when the
client says exit. A supervisor that goes away, because it is restarted or was
killed, is waited for for up to a minute; to the client that is a crash of the
server.

Of a template, --key names the instance: the programs with the same key share it,
and those with another one have another. --set gives it a value for each variable
of the template.

With a command behind -- no supervisor and no configuration are needed: the
command is supervised by this process, for this client alone, and ends with it. It
has the environment and the working folder of hostsup, and what it prints to
standard error goes there. With --sandbox it is confined: it has then the
variables and the working folder of "hostsup sandbox run", and HOST of --allow is
HOST:443. With --shared the command is supervised by a process of its own, which is
started if the user has none, and all programs that attach so to the same command,
with the same flags and in the same folder, share it; it has the environment of the
first. Both end when no program was attached for the time that --idle says.

The exit code is 1 when the command was given up, which it is after
three crashes within five minutes.`,
		Example: `  hostsup attach pyright
  hostsup attach github --key ada --set token=env:GITHUB_TOKEN
  hostsup attach -- pyright-langserver --stdio
  hostsup attach --shared -- pyright-langserver --stdio
  hostsup attach --sandbox mcp-server --allow api.example.com --write . -- npx -y SERVER`,
		Args: func(cmd *cobra.Command, given []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				return args(1, -1, "CMD")(cmd, given)
			}
			return args(1, 1, "HOST")(cmd, given)
		},
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			withCommand := cmd.ArgsLenAtDash() == 0
			switch name := misplaced(cmd, withCommand); {
			case in.given() && withCommand:
				return usagef("--key and --set have no meaning here: a command behind -- is no template")
			case name != "" && withCommand:
				return usagef("--%s has no meaning here: a command behind -- is supervised without a supervisor and its configuration", name)
			case name != "":
				return usagef("--%s has no meaning here: it is for a command behind --", name)
			case withCommand && o.shared:
				return a.attachShared(&o, cmd.LocalNonPersistentFlags(), given)
			case withCommand && cmd.Flags().Changed("idle"):
				return usagef("--idle has no meaning without --shared: the command ends with this client")
			case withCommand:
				return a.attachAlone(&o, given)
			}
			i, err := in.instance()
			if err != nil {
				return err
			}
			return a.attach(cmd.Context(), given[0], i)
		},
	}
	o.flags(cmd)
	in.flags(cmd)
	return cmd
}

// attach makes the standard streams a client of a host, or of an instance of it.
func (a *app) attach(ctx context.Context, host string, i control.Instance) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	join := func(ctx context.Context) (*control.Attachment, error) {
		if i.Key != "" {
			ctx = attach.WithKey(ctx, i.Key, i.Vars)
		}
		return c.Join(ctx, host)
	}
	first, err := join(ctx)
	if err != nil {
		return err
	}
	defer first.Close()
	if !relays(first.Protocols) {
		defer time.AfterFunc(settledAfter, giveBack).Stop()
		return first.Serve(a.in, a.out.w)
	}
	return a.attachRelay(&relay{host: host, first: first, within: reconnectWithin, restart: relayRestart(), join: join}, first)
}

// settledAfter is how long after its start hostsup attach gives the memory back that only its
// start needed: an editor keeps one for each server, and for days.
const settledAfter = 5 * time.Second
