package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/top"
)

func (a *app) topVerb() *cobra.Command {
	var plain bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch all hosts live in the terminal, and start, stop or restart them",
		Long: `Watch all hosts live in the terminal: their states, restarts, calls, memory and
processor time, and of each its log, events and last crash report. The key ? shows
what can be done; a question comes before anything is changed.

With --plain, or where standard output is no terminal, print the table once, or with
--watch at each interval until Ctrl-C.`,
		Example: `  hostsup top
  hostsup top --url https://ops.example:7777 --token-file token
  hostsup top --plain --watch=5s > figures.txt`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 0 {
				return usagef("--watch needs an interval above 0")
			}
			return a.top(cmd.Context(), plain, every)
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "print the table without colours and end")
	cmd.Flags().DurationVarP(&every, "watch", "w", 0, "print the table again each `INTERVAL`; alone: each two seconds")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

func (a *app) top(ctx context.Context, plain bool, every time.Duration) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	scr := screen(a.out)
	tty, ok := a.out.w.(*os.File)
	in, _ := a.in.(*os.File)
	if ok && scr.Terminal && in != nil && term.IsTerminal(int(in.Fd())) && !plain && every == 0 {
		if _, err := c.Status(ctx); err != nil { // before the screen is cleared
			return err
		}
		return top.Run(ctx, c, in, tty, scr)
	}
	if plain {
		scr = show.Screen{Now: scr.Now}
	}
	if every == 0 {
		return top.Once(ctx, c, a.out, scr)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return top.Each(ctx, c, a.out, scr, every)
}
