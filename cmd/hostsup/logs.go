package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/capture"
)

func (a *app) logsVerb() *cobra.Command {
	var follow, all, plain, channels bool
	var n int
	var channel string
	cmd := &cobra.Command{
		Use:   "logs HOST|GROUP… | --all | HOST --channel NAME | HOST --channels",
		Short: "Print what hosts have printed",
		Long: `Print what hosts have written to their standard output and standard error. In a
terminal each line has its time and stream; piped on, it is as it was printed.

Lines of several hosts are printed in the order of time, with the name of the host
in front: NAME | for standard output, NAME ! for standard error, NAME - for a remark
of the supervisor. While --all follows, hosts that are added are joined.

With --channel only what an extension of VS Code has written into an output channel
is printed; --channels lists them. NAME is the name of the channel, or the id of the
extension, a slash and the name. What an extension writes to its console is in the
log of its host.`,
		Example: `  hostsup logs math
  hostsup logs --all -f
  hostsup logs editor --channel Git -f
  hostsup logs --all --plain > today.txt`,
		ValidArgsFunction: a.completeHosts(-1),
		Args: func(cmd *cobra.Command, names []string) error {
			if all && len(names) > 0 {
				return usagef("either HOST or --all, not both")
			}
			if all {
				return nil
			}
			return args(1, -1, "HOST or --all")(cmd, names)
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			if n < 0 {
				return usagef("-n %d is negative", n)
			}
			if !channels && !cmd.Flags().Changed("channel") {
				return a.logs(cmd.Context(), names, n, follow, plain)
			}
			switch {
			case all || len(names) != 1:
				return usagef("--channel and --channels are for one host")
			case channels && (follow || cmd.Flags().Changed("channel")):
				return usagef("either --channel or --channels, which is a list and follows nothing")
			case channels:
				return a.channels(cmd.Context(), names[0])
			case channel == "":
				return usagef("--channel is empty: the name of an output channel is expected")
			}
			return a.logsOfChannel(cmd.Context(), names[0], channel, n, follow, plain)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all hosts")
	cmd.Flags().BoolVar(&channels, "channels", false, "list the output channels of the extensions of a host")
	cmd.Flags().StringVar(&channel, "channel", "", "only this output channel, by its `NAME`")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("channel", a.completeChannels))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new ones")
	cmd.Flags().IntVarP(&n, "lines", "n", 200, "how many of the last lines to start with, of all hosts together")
	cmd.Flags().BoolVar(&plain, "plain", false, "print time, host and stream as in a terminal, without colours, also to a file")
	a.jsonFlag(cmd, "print a line of JSON each")
	return cmd
}

// logs prints the output of the named hosts, or without names of all.
func (a *app) logs(ctx context.Context, names []string, n int, follow, plain bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	st, err := c.Status(ctx, names...) // for the width of the names
	if err != nil {
		return err
	}
	for _, p := range st.Parts {
		if slices.Contains(names, p.Name) {
			return usagef("%q is an exec server, which prints nothing", p.Name)
		}
	}
	scr := a.logScreen(plain)
	if len(names) == 1 && len(st.Hosts) == 1 && st.Hosts[0].Name == names[0] {
		return a.logsOf(scr, names[0], c.Logs(ctx, names[0], n, follow))
	}
	hosts := make([]string, len(st.Hosts))
	for i, h := range st.Hosts {
		hosts[i] = h.Name
	}
	width := show.HostWidth(hosts)
	for ln, err := range c.AllLogs(ctx, names, n, follow) {
		if err != nil {
			return err
		}
		width = max(width, min(utf8.RuneCountInString(show.Clean(ln.Host)), 32))
		if a.json {
			a.out.jsonLine(ln)
		} else {
			a.printLine(ln.Host, ln.Line, scr.Terminal, scr.HostLine(ln.Host, ln.Line, width))
		}
		if a.out.err != nil {
			break
		}
	}
	return nil
}

// logScreen returns the screen for lines of output; plain is one without colours.
func (a *app) logScreen(plain bool) show.Screen {
	scr := screen(a.out)
	if plain {
		scr = show.Screen{Terminal: true, Now: scr.Now}
	}
	return scr
}

// logsOf prints lines of one host.
func (a *app) logsOf(scr show.Screen, host string, lines iter.Seq2[capture.Line, error]) error {
	for ln, err := range lines {
		if err != nil {
			return err
		}
		if a.json {
			a.out.jsonLine(ln)
		} else {
			a.printLine(host, ln, scr.Terminal, scr.Line(ln))
		}
		if a.out.err != nil {
			break
		}
	}
	return nil
}

// printLine prints a line as text. It keeps remarks of the supervisor out of piped output.
func (a *app) printLine(host string, ln capture.Line, remarks bool, text string) {
	if ln.Lost > 0 {
		fmt.Fprintf(a.errout, "hostsup: %s: %d %s missed here\n", show.Clean(host), ln.Lost, show.Plural(int(ln.Lost), "line was", "lines were"))
	}
	if ln.Stream == capture.Note && !remarks {
		fmt.Fprintf(a.errout, "hostsup: %s: %s\n", show.Clean(host), show.Clean(ln.Text))
		return
	}
	a.out.line(text)
}
