//go:build linux

package integration

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// TestGarbage runs a host for every kind of bad bytes, and beside them one
// that does not notice: it answers as it does beside hosts that are killed.
func TestGarbage(t *testing.T) {
	t.Parallel()
	g := supervisor.GroupSpec{Name: "editor", Hosts: []supervisor.HostSpec{demoHost("good")}}
	for _, kind := range demo.Kinds() {
		g.Hosts = append(g.Hosts, demoHost(kind.Kind), demoHost("killed-"+kind.Kind))
	}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{g}})
	good := host(t, sup, "good")
	runs(t, good, 1)
	before := beside(t, good, func() {
		var work sync.WaitGroup
		defer work.Wait()
		for _, kind := range demo.Kinds() {
			h := host(t, sup, "killed-"+kind.Kind)
			work.Go(func() {
				_ = h.Call(ctx(t), "crash", map[string]string{"signal": "SIGKILL"}, nil) // it ends under it
				_ = h.Wait(ctx(t), lifecycle.Running)
				_ = h.Call(ctx(t), "echo", 1, nil)
			})
		}
	})
	var during []time.Duration
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		during = beside(t, good, func() { <-over })
	}()
	for _, kind := range demo.Kinds() {
		// Not in parallel: the good host would be called for as long as they wait for their turn.
		t.Run(kind.Kind, func(t *testing.T) {
			h := host(t, sup, kind.Kind)
			runs(t, h, 1)
			err := h.Call(ctx(t), "garbage", map[string]string{"kind": kind.Kind}, nil)
			// "twice" has had its answer before anything was wrong.
			if kind.Kind != "twice" && !errors.Is(err, supervisor.ErrCrashed) {
				t.Errorf("the call: %v", err)
			}
			runs(t, h, 2)
			echoes(t, h)
			r := crash(t, sup, kind.Kind)
			mentions(t, r.Reason, "protocol: "+kind.Err.Error())
			if r.State != lifecycle.Running || r.Life != 1 || r.Exit == nil {
				t.Errorf("report %+v", r)
			}
			if !slices.ContainsFunc(r.Messages, func(m record.Header) bool { return m.Method == "garbage" && m.Dir == "sent" }) {
				t.Errorf("the request is not among the last messages: %+v", r.Messages)
			}
		})
	}
	close(over)
	<-ended
	undisturbed(t, before, during)
	if s := good.Status(); s.Life != 1 || s.State != lifecycle.Running {
		t.Errorf("the good host: %+v", s)
	}
}

// TestNoiseOnStdout is the mistake everybody makes once: a print where the
// protocol is.
func TestNoiseOnStdout(t *testing.T) {
	t.Parallel()
	stdio := func(s *supervisor.HostSpec) { s.Transport = "stdio" }
	t.Run("before the handshake", func(t *testing.T) {
		t.Parallel()
		sup, _ := alone(t, demoHost("ts", stdio, startsLike("noise"), crashes(1)))
		r := crash(t, sup, "ts")
		mentions(t, r.Reason, `text on stdout, where frames belong: "demo-host: this line is not part of any protocol"`, "print to stderr")
		mentions(t, string(r.Noise), "demo-host: this line")
	})
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		sup, h := alone(t, demoHost("ts", stdio, crashes(1)))
		if err := h.Call(ctx(t), "garbage", map[string]string{"kind": "noise"}, nil); !errors.Is(err, supervisor.ErrCrashed) {
			t.Errorf("%v", err)
		}
		mentions(t, crash(t, sup, "ts").Reason, `text on stdout, where frames belong: "Traceback (most recent call last)`)
	})
}
