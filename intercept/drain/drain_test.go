package drain_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/drain"
)

func none() int { return 0 }

// TestQuietWaitsForWhatHasPassed waits for a call that was not sent yet when the gate was shut.
func TestQuietWaitsForWhatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g drain.Gate
		m := &codec.Message{Kind: codec.Request}
		g.Outbound(1, m) // on its way
		g.Shut()
		g.Outbound(1, m) // held
		began := time.Now()
		if !g.Quiet(t.Context(), func() int {
			if time.Since(began) < time.Second {
				return 2
			}
			return 1
		}, time.Minute) || time.Since(began) < time.Second {
			t.Errorf("after %s", time.Since(began))
		}
	})
}

func TestAShutGateHolds(t *testing.T) {
	var g drain.Gate
	if v := g.Outbound(1, &codec.Message{Kind: codec.Request}); v.Hold != nil {
		t.Error("an open gate holds")
	}
	if !g.Shut() || g.Shut() {
		t.Error("a gate is shut once")
	}
	v := g.Outbound(1, &codec.Message{Kind: codec.Request})
	if v.Hold == nil {
		t.Fatal("a shut gate lets pass")
	}
	g.Open()
	<-v.Hold
	g.Open() // changes nothing
	if v := g.Outbound(1, &codec.Message{Kind: codec.Request}); v.Hold != nil {
		t.Error("a gate that was opened holds")
	}
}

// TestQuiet tells what ends the wait for the calls under way.
func TestQuiet(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(g *drain.Gate)
		want bool
	}{
		"the last answer": {func(g *drain.Gate) { g.Answered(7); g.Answered(7) }, true},
		"one of two":      {func(g *drain.Gate) { g.Answered(7) }, false},
		"of another life": {func(g *drain.Gate) { g.Answered(6); g.Answered(6) }, false},
		"the end":         {func(g *drain.Gate) { g.Ended() }, true},
		"time":            {func(*drain.Gate) {}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g drain.Gate
			g.Sent(6)
			g.Sent(7) // what the life before had not answered counts no longer
			g.Sent(7)
			go func() {
				time.Sleep(time.Second) //nolint:forbidigo // inside a synctest bubble
				c.do(&g)
			}()
			began := time.Now()
			got := g.Quiet(t.Context(), none, time.Minute)
			took := time.Since(began)
			if got != c.want || got != (took == time.Second) || !got && took != time.Minute {
				t.Errorf("%s: %v after %s", name, got, took)
			}
		})
	}
}

func TestQuietEndsWithItsContext(t *testing.T) {
	var g drain.Gate
	g.Sent(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g.Quiet(ctx, none, time.Hour) {
		t.Error("a call is under way")
	}
	if g.Answered(1); !g.Quiet(t.Context(), none, time.Hour) {
		t.Error("no call is under way")
	}
}
