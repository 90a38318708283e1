package attach

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
)

// Bounds of what people are told of a host.
const (
	// noticeWindow is the time in which one crash is told, and once that the host was
	// given up. Further ones are counted, and told together at its end.
	noticeWindow = time.Minute
	// slowAfter is how long a start may last until people are told what that usually means.
	slowAfter = 5 * time.Second
	// progressAfter is how long a host has been down until it is shown as work in progress.
	progressAfter = time.Second
)

// gravity is how grave a notice is.
type gravity uint8

const (
	info gravity = iota
	warning
	severe
)

// notice is a message about the host for the people behind the clients.
type notice struct {
	gravity gravity
	text    string
	relief  bool // it takes back what was told before: who was not told that does not need it
	printed bool // what the host has printed last explains it
}

// advice is what notices say besides what has happened. All but the name may be empty.
type advice struct {
	name   string // the host as people are told of it, such as `the language server pyright`
	slow   string // what a start that lasts long usually means
	failed string // what helps when the host was given up
	exited string // what helps when it has ended and its rules do not start it again
}

// notices decides what the people behind the clients are told of the host, and when. Its
// methods decide and do nothing else. The zero value is of a host of which nothing has
// happened yet.
type notices struct {
	state    lifecycle.State
	ended    string    // how and why the last life has ended
	starting time.Time // when the present start began; zero: the host is not starting, or a slow start was told
	slow     time.Time // no other slow start is told before
	away     time.Time // since when it is to be started again; zero: it is not
	working  bool      // that is shown as work in progress

	uneasy bool      // what was told last is that the host does not run
	lost   bool      // and that it ran before
	since  time.Time // when that began
	until  time.Time // end of the window
	gaveUp bool      // it was told in this window that the host was given up
	left   int       // ends in this window that were not told
}

// changed follows a change of the host's state.
func (n *notices) changed(now time.Time, t lifecycle.Transition, a advice) []notice {
	n.state, n.starting = t.To, time.Time{}
	switch {
	case t.To == lifecycle.Restarting:
		if n.away.IsZero() {
			n.away = now
		}
	case t.To != lifecycle.Starting && t.To != lifecycle.Crashed:
		n.away, n.working = time.Time{}, false
	}
	switch t.To {
	case lifecycle.Starting:
		n.starting = now
	case lifecycle.Running:
		if t.From == lifecycle.Starting && n.uneasy {
			text := "has started after"
			if n.lost {
				text = "is back after"
			}
			n.uneasy, n.lost = false, false
			return []notice{{gravity: info, text: fmt.Sprintf("%s %s %s", a.name, text, lasted(now.Sub(n.since))), relief: true}}
		}
	case lifecycle.Crashed:
		n.ended = "crashed: " + t.Reason
	case lifecycle.Restarting:
		if t.From != lifecycle.Crashed {
			n.ended = "ended by itself"
		}
		return n.down(now, warning, a.name+" "+n.ended+"; it is started again")
	case lifecycle.Stopped:
		switch {
		case t.From == lifecycle.Crashed:
		case t.By == lifecycle.BySelf:
			n.ended = "ended by itself: " + t.Reason
		default:
			return nil // somebody has stopped it, and knows
		}
		return n.down(now, warning, a.name+" "+n.ended+behind(a.exited))
	case lifecycle.Failed:
		n.ended = "has failed: " + t.Reason
		if t.From == lifecycle.Crashed {
			n.ended = "crashed: " + t.Reason
		}
		return n.down(now, severe, a.name+" "+n.ended+behind(a.failed))
	}
	return nil
}

// down tells that the host does not run, unless that has been told often enough.
func (n *notices) down(now time.Time, g gravity, text string) []notice {
	final := g == severe
	switch {
	case !now.Before(n.until):
		if n.left > 0 {
			text += fmt.Sprintf("; it has ended %s since the last message", times(n.left))
		}
		n.until, n.gaveUp = now.Add(noticeWindow), false
	case !final || n.gaveUp:
		n.left++
		return nil
	}
	n.left, n.gaveUp, n.lost = 0, n.gaveUp || final, true
	n.worry(now)
	return []notice{{gravity: g, text: text}}
}

// worry notes that it is told that the host does not run.
func (n *notices) worry(since time.Time) {
	if !n.uneasy {
		n.uneasy, n.since = true, since
	}
}

// tick tells what is due.
func (n *notices) tick(now time.Time, a advice) (due []notice) {
	if !n.away.IsZero() && !now.Before(n.away.Add(progressAfter)) {
		n.working = true
	}
	if !n.starting.IsZero() && !now.Before(n.starting.Add(slowAfter)) {
		if !now.Before(n.slow) {
			n.slow = now.Add(noticeWindow)
			n.worry(n.starting)
			due = append(due, notice{gravity: warning, text: fmt.Sprintf("%s has not answered for %s since its start%s", a.name, slowAfter, colon(a.slow)), printed: true})
		}
		n.starting = time.Time{}
	}
	if n.left > 0 && !now.Before(n.until) {
		text, g := fmt.Sprintf("%s has ended %s within a minute; the last time it %s", a.name, times(n.left), n.ended), warning
		switch {
		case n.state.Up():
			n.uneasy, n.lost = false, false
			text += "; it runs again"
		case n.state == lifecycle.Failed:
			g = severe
			text += behind(a.failed)
		case n.state == lifecycle.Stopped:
			text += behind(a.exited)
		default:
			text += "; it is started again"
		}
		if !n.state.Up() {
			n.worry(now)
			n.lost = true
		}
		n.until, n.gaveUp, n.left = now.Add(noticeWindow), g == severe, 0
		due = append(due, notice{gravity: g, text: text})
	}
	return due
}

// next returns when tick is to be called, the zero time for not at all.
func (n *notices) next() time.Time {
	var at time.Time
	if n.left > 0 {
		at = n.until
	}
	if slow := n.starting.Add(slowAfter); !n.starting.IsZero() && (at.IsZero() || slow.Before(at)) {
		at = slow
	}
	if begin := n.away.Add(progressAfter); !n.away.IsZero() && !n.working && (at.IsZero() || begin.Before(at)) {
		at = begin
	}
	return at
}

// unheard tells that nobody was there to be told: who comes later is told nothing of
// what was before.
func (n *notices) unheard() {
	n.uneasy, n.lost, n.until, n.slow, n.left = false, false, time.Time{}, time.Time{}, 0
}

// behind puts advice behind a text, colon an explanation.
func behind(advice string) string { return joined("; ", advice) }
func colon(text string) string    { return joined(": ", text) }

func joined(by, text string) string {
	if text == "" {
		return ""
	}
	return by + text
}

func times(n int) string {
	if n == 1 {
		return "once more"
	}
	return fmt.Sprintf("%d more times", n)
}

// lasted renders a duration for people.
func lasted(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
