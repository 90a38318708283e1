package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// watch is a feature of a simulated host: an interceptor that has all functions, and tells the checker
// of each call. It may hold calls back, or refuse some.
type watch struct {
	t       *teller // nil in a story
	how     string  // looks, holds or refuses
	healthy bool    // the host is checked, too
}

var errRefused = errors.New("refused by a feature")

// watchOf returns the feature of a host; the zero value for a host without one.
func watchOf(h *supervisor.HostSpec) (w watch) {
	for _, f := range h.Features {
		w, _ = f.(watch)
	}
	return w
}

// with gives a host the feature, or takes it if nothing is to be done.
func (w watch) with(h *supervisor.HostSpec) {
	h.Features = nil
	if w.how != "" || w.healthy {
		h.Features = []supervisor.Feature{w}
	}
}

// live gives a host of a tree what its feature stands for.
func (t *teller) live(h *supervisor.HostSpec) {
	w := watchOf(h)
	if w.healthy {
		h.Healthy = func(context.Context, *supervisor.Host) error {
			if t.check.isSick(h.Name) {
				return errors.New("sick")
			}
			return nil
		}
	}
	if w.t = t; w.how == "" {
		h.Features = nil
		return
	}
	h.Features = []supervisor.Feature{w}
}

// Setting implements [supervisor.Feature].
func (watch) Setting() string { return "watch" }

// Validate implements [supervisor.Feature].
func (watch) Validate(codec.Protocol) error { return nil }

// Interceptor implements [supervisor.Feature].
func (w watch) Interceptor(host *actors.Ref) *actors.Interceptor {
	c, m, name := w.t.check, w.t.m, host.Name()
	reading := m.dice("reading %s", name)
	return &actors.Interceptor{
		Name: "watch", Stage: actors.StageWatch,
		Starting: func(ctx context.Context, s *actors.Start) error {
			c.watched(name, onStarting, s.Life)
			m.wait(ctx, m.dice("starting %s.%d", name, s.Life).within(5*time.Millisecond))
			return ctx.Err()
		},
		Up: func(line *actors.Line, publish func()) {
			c.watched(name, onUp, line.Life())
			if err := line.Tell("hello", number(int(line.Life()))); err != nil {
				c.noteOf("%s: hello to life %d: %v", name, line.Life(), err)
			}
			publish()
		},
		Leaving: func(line *actors.Line) {
			c.watched(name, onLeaving, line.Life())
			if err := line.Tell("bye", number(int(line.Life()))); err != nil {
				c.noteOf("%s: bye to life %d: %v", name, line.Life(), err)
			}
		},
		Down:  func(life uint64) { c.watched(name, onDown, life) },
		Ended: func(e actors.LifeEnd) { c.watched(name, onEnded, e.Life) },
		Advise: func(e actors.LifeEnd, tell func(actors.Advice)) {
			m.AfterFunc(m.dice("advise %s.%d", name, e.Life).within(100*time.Millisecond), func() { tell(actors.Advice{}) })
		},
		Gone: func(e actors.LifeEnd) {
			c.watched(name, onGone, e.Life)
			m.wait(context.Background(), m.dice("gone %s.%d", name, e.Life).within(20*time.Millisecond))
			c.watched(name, afterGone, e.Life)
		},
		Over:   func(life uint64) { c.watched(name, onOver, life) },
		Closed: func() { c.watched(name, onClosed, 0) },
		Changed: func(t lifecycle.Transition) {
			c.changed(name, t)
		},
		Outbound: func(life uint64, msg *codec.Message) (v actors.Verdict) {
			if msg.Kind != codec.Request {
				return v
			}
			dice := m.dice("outbound %s.%d %x", name, life, msg.Params)
			switch {
			case w.how == "holds" && dice.chance(0.3) && c.holds(msg):
				hold := make(chan struct{})
				m.AfterFunc(dice.within(300*time.Millisecond), func() { close(hold) })
				v.Hold = hold
			case w.how == "refuses" && dice.chance(0.2) && c.refuses(msg):
				v.Err = errRefused
			}
			return v
		},
		Sent:     func(life uint64, msg *codec.Message, again bool) { c.sent(name, life, msg, again) },
		Answered: func(life uint64, id uint32, _ time.Duration) { c.responded(name, int(life), id) },
		Inbound: func(life uint64, msg *codec.Message) (v actors.Verdict) {
			if msg.Kind == codec.Notification {
				c.newsOf("the interceptor of "+name, int(life), msg.Params)
			}
			return v
		},
		Reading: func() <-chan struct{} {
			if !reading.chance(0.02) {
				return nil
			}
			hold := make(chan struct{})
			m.AfterFunc(reading.within(20*time.Millisecond), func() { close(hold) })
			return hold
		},
	}
}
