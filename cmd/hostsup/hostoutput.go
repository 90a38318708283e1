package main

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
)

// hostOutput shows the output of all hosts beside the log of hostsup run. A terminal that
// is not read blocks neither a host nor the supervisor: lines wait where hosts keep their
// last ones, and those that are lost there are counted.
type hostOutput struct {
	screen show.Screen
	queue  *logQueue
	width  int // of the names
}

// show shows what hosts print until the supervisor has ended, or logFlushWait after the
// end of ctx.
func (o *hostOutput) show(ctx context.Context, sup control.Supervisor) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-late.Done():
		case <-time.After(logFlushWait):
			cancel()
		}
	})()
	for host := range sup.Names() {
		o.fit(host)
	}
	for ln := range control.Output(late, sup, func(string, string) bool { return true }, -1, true) {
		o.fit(ln.Host)
		text := o.screen.HostLine(ln.Host, ln.Line, o.width) + "\n"
		if ln.Lost > 0 {
			text = fmt.Sprintf("hostsup: %s: %d %s missed here\n", show.Clean(ln.Host), ln.Lost, show.Plural(int(ln.Lost), "line was", "lines were")) + text
		}
		if !o.queue.wait(late, []byte(text)) {
			return
		}
	}
}

// fit makes the column of names wide enough for a host.
func (o *hostOutput) fit(host string) {
	o.width = max(o.width, min(utf8.RuneCountInString(show.Clean(host)), 32))
}
