package supervisor

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

func TestValidateNamesWhatIsWrong(t *testing.T) {
	ok := HostSpec{Name: "a", Command: []string{"true"}}
	with := func(f func(*HostSpec)) Spec {
		h := ok
		f(&h)
		return Spec{Groups: []GroupSpec{Alone(h)}}
	}
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"name":       {with(func(h *HostSpec) { h.Name = "a/b" }), `name "a/b"`},
		"command":    {with(func(h *HostSpec) { h.Command = nil }), "command: expected a program"},
		"policy":     {with(func(h *HostSpec) { h.Restart.Policy = "sometimes" }), `"sometimes" is unknown`},
		"backoff":    {with(func(h *HostSpec) { h.Restart.Backoff.Jitter = 2 }), "jitter between 0 and 1"},
		"transport":  {with(func(h *HostSpec) { h.Transport = "fd" }), "a host without a protocol has none"},
		"env":        {with(func(h *HostSpec) { h.Env = map[string]string{"A=B": "1"} }), `"A=B"`},
		"negative":   {with(func(h *HostSpec) { h.Stop.Grace = -1 }), "stop grace: -1ns is negative"},
		"twice":      {Spec{Groups: []GroupSpec{Alone(ok), {Name: "g", Hosts: []HostSpec{ok}}}}, "belongs to a host already"},
		"group name": {Spec{Groups: []GroupSpec{Alone(ok), {Name: "a", Hosts: []HostSpec{{Name: "b", Command: []string{"x"}}}}}}, "belongs to a host already"},
		"strategy":   {Spec{Groups: []GroupSpec{{Name: "g", Strategy: "none"}}}, `strategy "none"`},
		"starting":   {Spec{MaxStarting: -1}, "max_starting: -1 is negative"},
		"on_failed":  {Spec{OnFailed: "panic"}, `on_failed "panic"`},
	} {
		err := c.spec.WithDefaults().Validate()
		if err == nil || !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	cycle := Spec{Groups: []GroupSpec{{Name: "g", Hosts: []HostSpec{
		{Name: "a", Command: []string{"x"}, Start: hostspec.StartRule{DependsOn: []string{"b"}}}, {Name: "b", Command: []string{"x"}, Start: hostspec.StartRule{DependsOn: []string{"a"}}},
	}}}}
	var order *lifecycle.OrderError
	if err := cycle.WithDefaults().Validate(); !errors.As(err, &order) || strings.Join(order.Cycle, " ") != "a b a" {
		t.Errorf("cycle: %v", err)
	}
	if err := (Spec{Groups: []GroupSpec{Alone(ok)}}).WithDefaults().Validate(); err != nil {
		t.Errorf("a good one: %v", err)
	}
}
