package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/lifecycle"
)

func TestSamplesOfTheQueryAreSent(t *testing.T) {
	c := control.NewClient(controltest.Serve(t, everything(), control.Options{Samples: sampled()}))
	got, err := c.Samples(t.Context(), samples.Query{Hosts: []string{"ts"}, Since: 1})
	if err != nil {
		t.Fatal(err)
	}
	if x := got.Hosts[0]; got.Last != 2 || len(got.Times) != 1 || x.Name != "ts" || x.State[0] != lifecycle.Unresponsive || *x.Calls[0] != 2 || *x.CPU[0] != 0.2 || x.P99[0] == nil {
		t.Errorf("%+v", got)
	}
	if got, err = c.Samples(t.Context(), samples.Query{N: 1}); err != nil || len(got.Hosts) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Samples(t.Context(), samples.Query{Hosts: []string{"tss"}}); class(err) != control.NoSuchHost {
		t.Errorf("an unknown host: %v", err)
	}
	if _, err := c.Samples(t.Context(), samples.Query{N: samples.Kept + 1}); class(err) != control.Invalid {
		t.Errorf("more than an hour: %v", err)
	}
	if _, err := control.NewClient(controltest.Serve(t, everything(), control.Options{})).Samples(t.Context(), samples.Query{}); class(err) != control.Unknown {
		t.Errorf("without a store: %v", err)
	}
}

func TestTooManySamplesAreRefused(t *testing.T) {
	sup, store := &controltest.Supervisor{}, samples.NewStore()
	var list []samples.Reading
	for i := range samples.MaxSamples/2 + 1 {
		list = append(list, samples.Reading{Host: fmt.Sprint(i), State: lifecycle.Running})
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store.Add(at, list)
	store.Add(at.Add(samples.Interval), list)
	_, err := control.NewClient(controltest.Serve(t, sup, control.Options{Samples: store})).Samples(t.Context(), samples.Query{})
	if class(err) != control.Invalid || !strings.Contains(err.Error(), "name fewer hosts, or set n") {
		t.Error(err)
	}
}
