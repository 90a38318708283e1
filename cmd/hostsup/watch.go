package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hostsup/hostsup/supervisor"
)

// watch prints the status each interval until Ctrl-C, and returns the last one. A terminal
// shows one at a time; other outputs get them one after the other.
func (a *app) watch(ctx context.Context, every time.Duration, get func(context.Context) (*supervisor.Status, error), named bool) (last *supervisor.Status, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		st, err := get(ctx)
		if err != nil {
			if last != nil && ctx.Err() != nil {
				err = nil
			}
			return last, err
		}
		last = st
		if err := errors.Join(a.frame(st, named), a.out.err); err != nil {
			return last, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, nil
		}
	}
}

// frame prints one status of many.
func (a *app) frame(st *supervisor.Status, named bool) error {
	switch height := rows(a.out); {
	case a.json:
		a.out.jsonLine(st)
		return nil
	case height > 0:
		var text bytes.Buffer
		err := a.status(&text, st, named)
		fmt.Fprint(a.out, redraw(text.String(), height))
		return err
	}
	fmt.Fprintln(a.out, time.Now().Format(time.RFC3339))
	err := a.status(a.out, st, named)
	fmt.Fprintln(a.out)
	return err
}

// rows returns the height of the terminal o in lines, or 0 if o is not a terminal or cannot redraw.
func rows(o *output) int {
	f, ok := o.w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return 0
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return height
}

// redraw returns what makes a terminal show text in the place of what it shows, so far as
// its height goes.
func redraw(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := max(height-1, 1); len(lines) > room { // one is the cursor's
		lines = append(lines[:room-1], fmt.Sprintf("… %d more lines", len(lines)-room+1))
	}
	return "\x1b[H" + strings.Join(lines, "\x1b[K\n") + "\x1b[K\n\x1b[J"
}
