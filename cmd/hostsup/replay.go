package main

import (
	"context"
	"fmt"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/control/evidence/replay"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// replayOptions are the flags of hostsup replay.
type replayOptions struct {
	bisect bool
	write  bool
	tries  int
	within time.Duration
	wait   time.Duration
}

func (a *app) replayVerb() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Replay a crash in a sandbox",
		Long: `Start a fresh instance of the host of a crash report in a sandbox, send it the
messages that the report holds, and say whether it crashes again in the same way. The
command is that of the configuration. The sandbox is that of the host, without a network
and with a private /tmp as the only folder to write. The host that runs is left alone.

Exit codes: 0 it crashed again in the same way; 1 it did not, or in another way, or it
cannot be replayed; 2 to 5 as of all verbs.`,
		Args:              args(1, 1, "ID"),
		ValidArgsFunction: a.completeCrashes,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.replay(cmd.Context(), given[0], o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.bisect, "bisect", false, "find the smallest list of messages with which it crashes in the same way")
	f.BoolVar(&o.write, "write", false, "let it write what the host may write, in the real folders")
	f.IntVar(&o.tries, "tries", 100, "with --bisect, start it up to `N` times")
	f.DurationVar(&o.within, "within", 5*time.Minute, "end after this time; with --bisect the smallest list so far is printed")
	f.DurationVar(&o.wait, "wait", 5*time.Second, "how long a crash is waited for after the last message")
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

// replayed is what hostsup replay prints with --json.
type replayed struct {
	ID      string            `json:"id"`
	Host    string            `json:"host"`
	Result  replay.Result     `json:"result"`
	LeftOut int               `json:"left_out"`         // messages whose parameters were not kept
	Hidden  int               `json:"redacted"`         // messages with parts that were taken out
	Bisect  *bisected         `json:"bisect,omitempty"` // with --bisect, if it crashed again
	Want    evidence.Likeness `json:"likeness"`         // of the report
}

type bisected struct {
	Tries    int               `json:"tries"`
	Whole    bool              `json:"whole"` // no message can be left out; false: the search was ended
	Messages []evidence.Moment `json:"messages"`
}

func (a *app) replay(ctx context.Context, id string, o replayOptions) error {
	if err := unsupported("replay", runtime.GOOS); err != nil {
		return err
	}
	if o.tries < 1 || o.within <= 0 || o.wait <= 0 {
		return usagef("--tries, --within and --wait must be positive")
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	report, err := c.Crash(ctx, id)
	if err != nil {
		return err
	}
	e, ok := evidence.Of(report)
	if !ok {
		return fmt.Errorf("crash report %s holds no messages: it was written by an older version", report.ID)
	}
	host, err := a.replayHost(report.Host, o.write)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	makeRoom()
	sandbox.CloseInheritedOnExec()
	sandbox.RememberProbe()
	list, left := replay.Messages(&e)
	out := replayed{ID: report.ID, Host: report.Host, LeftOut: left, Want: e.Likeness}
	for _, m := range list {
		if strings.Contains(string(m.Params), "[redacted") {
			out.Hidden++
		}
	}
	opt := replay.Options{Wait: o.wait}
	if out.Result, err = replay.Run(ctx, host, list, e.Likeness.Key, opt); err != nil {
		return fmt.Errorf("replay of crash %s: %w", report.ID, err)
	}
	if o.bisect && out.Result.Outcome == replay.Same {
		b := &bisected{}
		opt.Wait = min(opt.Wait, max(500*time.Millisecond, time.Duration(3*out.Result.After*float64(time.Second))))
		b.Messages, b.Whole, err = replay.Minimize(ctx, list, o.tries, func(list []evidence.Moment) (bool, error) {
			b.Tries++
			r, err := replay.Run(ctx, host, list, e.Likeness.Key, opt)
			return r.Outcome == replay.Same, err
		})
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("replay of crash %s: %w", report.ID, err)
		}
		out.Bisect = b
	}
	return a.showReplay(&out)
}

// replayHost returns the host of the configuration as a replay runs it.
func (a *app) replayHost(name string, write bool) (supervisor.HostSpec, error) {
	_, file, err := a.configuration(config.Options{Enforce: enforceable, Lenient: true})
	if err != nil {
		return supervisor.HostSpec{}, err
	}
	var names []string
	for _, g := range file.Spec.Groups {
		for _, h := range g.Hosts {
			if h.Name == name {
				return replay.Confined(h, write)
			}
			names = append(names, h.Name)
		}
	}
	return supervisor.HostSpec{}, &control.Error{Class: control.NoSuchHost, Message: fmt.Sprintf("no host %q is configured", name), Host: name, Hosts: names}
}

// showReplay prints the outcome. The error has the exit code.
func (a *app) showReplay(r *replayed) error {
	if a.json {
		a.out.jsonDocument(r)
	} else {
		fmt.Fprintln(a.out, replayText(r))
	}
	if r.Result.Outcome != replay.Same {
		return &printed{exitFailed}
	}
	return nil
}

func replayText(r *replayed) string {
	var b strings.Builder
	messages := fmt.Sprintf("%d %s", r.Result.Sent, show.Plural(r.Result.Sent, "message", "messages"))
	switch r.Result.Outcome {
	case replay.Same:
		fmt.Fprintf(&b, "it crashed again in the same way after %s: %s", messages, show.Clean(r.Result.Reason))
	case replay.Other:
		fmt.Fprintf(&b, "it crashed in another way after %s: %s\nthe report has: %s", messages, show.Clean(r.Result.Reason), show.Clean(r.Want.Title))
	default:
		fmt.Fprintf(&b, "it did not crash after %s", messages)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "\n%d %s not sent, because the report does not hold the parameters", r.LeftOut, show.Plural(r.LeftOut, "message was", "messages were"))
	}
	if r.Hidden > 0 {
		fmt.Fprintf(&b, "\n%d %s sent with [redacted] in the place of secrets", r.Hidden, show.Plural(r.Hidden, "message was", "messages were"))
	}
	if r.Bisect == nil {
		return b.String()
	}
	sent := 0
	for _, m := range r.Bisect.Messages {
		if m.Kind == evidence.KindSent {
			sent++
		}
	}
	fmt.Fprintf(&b, "\nsmallest list after %d %s: %d %s", r.Bisect.Tries, show.Plural(r.Bisect.Tries, "try", "tries"), sent, show.Plural(sent, "message", "messages"))
	if !r.Bisect.Whole {
		b.WriteString(" (the search was ended; see --tries and --within)")
	}
	for _, m := range r.Bisect.Messages {
		if m.Kind == evidence.KindSent {
			fmt.Fprintf(&b, "\n  %-12s %s %s", show.Clean(m.Type), show.Clean(m.Method), show.Clean(string(m.Params)))
		}
	}
	return b.String()
}
