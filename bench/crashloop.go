package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

const crashloopSpell = 10 * time.Second

// crashloopFigures are when the host was started, in nanoseconds from the
// first start.
type crashloopFigures struct{ Starts []float64 }

// crashloopWorker supervises a program that fails at once, with the default
// back-off and room for a hundred crashes.
func crashloopWorker([]string) (crashloopFigures, error) {
	h := supervisor.HostSpec{Name: "fails", Command: []string{"false"}, Restart: lifecycle.DefaultRestart()}
	h.Restart.MaxCrashes = 100
	s, err := supervisor.Start(context.Background(), supervisor.Spec{
		Groups: []supervisor.GroupSpec{{Name: "fails", Hosts: []supervisor.HostSpec{h}}},
	})
	if err != nil {
		return crashloopFigures{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), crashloopSpell)
	defer cancel()
	var f crashloopFigures
	var first time.Time
	for e := range s.Follow(ctx) {
		if e.Kind != record.KindState || e.To == nil || *e.To != lifecycle.Starting {
			continue
		}
		if first.IsZero() {
			first = e.Time
		}
		f.Starts = append(f.Starts, float64(e.Time.Sub(first)))
	}
	return f, s.Stop(context.Background())
}

func crashloopSection(options) (*report, error) {
	f, err := hire[crashloopFigures]("crashloop")
	if err != nil {
		return nil, err
	}
	if len(f.Starts) < 2 {
		return nil, fmt.Errorf("%d starts in %s", len(f.Starts), crashloopSpell)
	}
	r := &report{title: "A host that exits at once, 100 crashes allowed", head: []string{"start", "after the first"}}
	for i, at := range f.Starts {
		r.row(fmt.Sprint(i+1), millis(at))
	}
	r.targets = []target{
		{what: "starts in 10 s", ours: fmt.Sprint(len(f.Starts)), figure: float64(len(f.Starts)), limit: 10},
		// It does not wait: the shortest back-off there is would be 80 ms.
		{what: "first restart does not wait", ours: millis(f.Starts[1]), figure: f.Starts[1] / 1e6, limit: 50, unit: " ms"},
	}
	return r, nil
}
