package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// Outcomes of a try.
const (
	Same  = "same"  // it crashed in the same way
	Other = "other" // it crashed in another way
	None  = "none"  // it did not crash
)

// Options configures a try. The zero value is usable.
type Options struct {
	Pause  time.Duration // the longest pause between two messages; default 100 ms
	Answer time.Duration // how long an answer is waited for; default 5 s
	Wait   time.Duration // how long a crash is waited for after the last message; default 5 s
	Logger hclog.Logger  // of the supervisor that runs the host; default: nothing is logged
}

// Result is the outcome of a try.
type Result struct {
	Outcome  string            `json:"outcome"`
	Reason   string            `json:"reason,omitempty"`   // of the crash
	Likeness evidence.Likeness `json:"likeness,omitzero"`  // of the crash
	Sent     int               `json:"sent"`               // messages
	Took     float64           `json:"took_seconds"`       // all of the try
	After    float64           `json:"after_last_seconds"` // from the last message to the crash
}

// Messages returns what a replay of a report sends and waits for, in order: the messages to the
// host, and its answers. Those without parameters that were kept are left out, and counted.
func Messages(e *evidence.Evidence) (list []evidence.Moment, left int) {
	for _, m := range e.Timeline {
		switch {
		case m.Kind == evidence.KindSent && m.Cut:
			left++
		case m.Kind == evidence.KindSent, m.Kind == evidence.KindReceived && m.Type == "response":
			list = append(list, m)
		}
	}
	return list, left
}

// Run starts the host, sends it the messages, and waits for a crash. key is that of the likeness
// that counts as the same. When Run returns, nothing of the host is left. The error is that of a
// host that cannot be started, or ctx's.
func Run(ctx context.Context, host supervisor.HostSpec, list []evidence.Moment, key string, opt Options) (r Result, err error) {
	opt.Pause, opt.Answer, opt.Wait = cmp.Or(opt.Pause, 100*time.Millisecond), cmp.Or(opt.Answer, 5*time.Second), cmp.Or(opt.Wait, 5*time.Second)
	began := time.Now()
	opts := []supervisor.Option{supervisor.WithEvidence(evidence.New(evidence.Options{}))}
	if opt.Logger != nil {
		opts = append(opts, supervisor.WithLogger(opt.Logger))
	}
	host.Start.Lazy = false
	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(host)}}, opts...)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, sup.Stop(context.WithoutCancel(ctx))) }()
	if err := sup.Ready(ctx); err != nil {
		return r, err
	}
	h, err := sup.Host(host.Name)
	if err != nil {
		return r, err
	}
	r.Sent = send(ctx, h, list, opt)
	last := time.Now()
	wait, cancel := context.WithTimeout(ctx, opt.Wait)
	defer cancel()
	err = h.Wait(wait, lifecycle.Stopped, lifecycle.Failed, lifecycle.Crashed)
	r.After, r.Took, r.Outcome = time.Since(last).Seconds(), time.Since(began).Seconds(), None
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil && wait.Err() == nil:
		return r, err
	case err != nil:
		return r, nil
	}
	return r, r.judge(ctx, sup, h, key)
}

// judge compares the crash of a host that has ended.
func (r *Result) judge(ctx context.Context, sup *supervisor.Supervisor, h *supervisor.Host, key string) error {
	id := h.Status().CrashID
	if id == nil {
		return nil // it has ended by itself
	}
	tick := time.NewTicker(10 * time.Millisecond) // the report is filed when the output is read
	defer tick.Stop()
	for {
		report, err := sup.Crash(*id)
		if err == nil {
			if report.PID == 0 {
				return fmt.Errorf("the host cannot be started in the sandbox: %s", report.Reason)
			}
			r.Reason = report.Reason
			if e, ok := evidence.Of(report); ok {
				r.Likeness = e.Likeness
			}
			r.Outcome = Other
			if r.Likeness.Key == key {
				r.Outcome = Same
			}
			return nil
		}
		if !errors.Is(err, supervisor.ErrNoCrash) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the report of the replay: %w", ctx.Err())
		}
	}
}

// send sends the messages until one cannot be sent, because the host has ended, and returns how many.
func send(ctx context.Context, h *supervisor.Host, list []evidence.Moment, opt Options) (sent int) {
	open := map[uint32]<-chan struct{}{}
	var before time.Time
	for i := range list {
		m := &list[i]
		if m.Kind != evidence.KindSent {
			if done := open[m.ID]; done != nil {
				pause(ctx, opt.Answer, done)
			}
			continue
		}
		if !before.IsZero() {
			pause(ctx, min(opt.Pause, m.Time.Sub(before)), nil)
		}
		before = m.Time
		var params any
		if len(m.Params) > 0 {
			raw, err := h.Encoding().FromJSON(m.Params)
			if err != nil {
				continue
			}
			params = raw
		}
		if m.Type == "notification" {
			if h.Notify(ctx, m.Method, params) != nil {
				return sent
			}
		} else {
			p, err := h.Go(ctx, m.Method, params)
			if err != nil {
				return sent
			}
			open[m.ID] = p.Done()
		}
		sent++
	}
	return sent
}

// pause waits for a time, or until done is closed.
func pause(ctx context.Context, d time.Duration, done <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	case <-ctx.Done():
	}
}
