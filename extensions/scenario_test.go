package extensions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/location"
)

// simulation runs the machines together, like a supervisor, with simulated hosts.
type simulation struct {
	t       *testing.T
	list    []extensions.Extension
	active  *activation.Machine
	blamed  *blame.Machine
	where   location.Assignment
	lives   map[string]uint64 // the current life by host, while it is up
	starts  map[string]int
	calls   uint64
	now     time.Time
	records []string
}

func newSimulation(t *testing.T, list []extensions.Extension) *simulation {
	h := &simulation{t: t, list: list, active: activation.New(activation.Rules{}), blamed: blame.New(blame.Rules{}), lives: map[string]uint64{}, starts: map[string]int{}, now: time.Unix(0, 0)}
	h.assign()
	h.activation(activation.Boot{})
	return h
}

// assign decides again where everything runs, and installs the result.
func (h *simulation) assign() {
	h.where = location.Assign(location.Input{List: h.list, Cells: h.blamed.Cells(), Before: h.where})
	h.activation(activation.Installed{List: h.list, Where: h.where.Where("home")})
}

// cell returns blame's name for a host.
func cell(host string) string {
	_, c, _ := strings.Cut(host, "~")
	return c
}

func (h *simulation) activation(ev activation.Event) {
	h.now = h.now.Add(time.Second)
	for _, e := range h.active.Step(ev, h.now) {
		switch e := e.(type) {
		case activation.StartHost:
			h.start(e.Host)
		case activation.Activate:
			h.blame(blame.Began{Cell: cell(e.Host), Life: e.Life, ID: e.ID})
			h.blame(blame.Finished{Cell: cell(e.Host), Life: e.Life, ID: e.ID})
			h.activation(activation.Done{Host: e.Host, Life: e.Life, ID: e.ID})
		case activation.Deactivate:
			h.t.Errorf("%s would have to end in host %s, which is up", e.ID, e.Host)
		case activation.Settled:
			for _, err := range e.Errs {
				h.t.Error(err)
			}
		}
	}
}

func (h *simulation) start(host string) {
	h.starts[host]++
	h.lives[host] = uint64(h.starts[host])
	h.blame(blame.LifeStarted{Cell: cell(host), Life: h.lives[host]})
	h.activation(activation.HostUp{Host: host, Life: h.lives[host]})
}

// blame reports whether an extension has moved.
func (h *simulation) blame(ev blame.Event) bool {
	moved := false
	for _, e := range h.blamed.Step(ev, h.now) {
		switch e := e.(type) {
		case blame.Move:
			moved = true
		case blame.Record:
			h.records = append(h.records, fmt.Sprintf("%s %v: %s", e.Decision.Verdict, e.Decision.IDs, e.Decision.Why))
		}
	}
	return moved
}

// command activates an extension and calls it.
func (h *simulation) command(id extensions.ID) {
	h.activation(activation.Request{Event: "onCommand:" + string(id), Tag: 1})
	s, _ := h.active.Get(id)
	if s.State != activation.Active {
		h.t.Fatalf("%s is %s in host %q", id, s.State, s.Host)
	}
	h.calls++
	life, call := h.lives[s.Host], h.calls
	h.blame(blame.CallBegan{Cell: cell(s.Host), Life: life, Call: call, ID: id, Method: "command"})
	if id != "x.bad" {
		h.blame(blame.CallEnded{Cell: cell(s.Host), Life: life, Call: call})
		return
	}
	// The host dies: waiting requests fail, then the culprit moves, then the next life
	// begins.
	delete(h.lives, s.Host)
	h.activation(activation.HostDown{Host: s.Host, Next: activation.NextRestart, Cause: "killed by SIGABRT"})
	if h.blame(blame.Crashed{Cell: cell(s.Host), Life: life, Kind: blame.Exit, Reason: "killed by SIGABRT"}) {
		h.assign()
	}
	h.start(s.Host)
}

// Of six extensions one aborts in its command: after two crashes it runs in its own
// host with its dependents, and the others never restart again.
func TestCrashingExtensionIsIsolated(t *testing.T) {
	list := []extensions.Extension{{ID: "x.bad"}, {ID: "x.lib"}, {ID: "x.a"}, {ID: "x.b"}, {ID: "x.c"}, {ID: "x.needs"}}
	for i := range list {
		list[i].Main = "m"
		list[i].Events = []string{"onCommand:" + string(list[i].ID)}
	}
	list[0].Dependencies = []extensions.ID{"x.lib"}
	list[5].Dependencies = []extensions.ID{"x.bad"}
	h := newSimulation(t, list)
	for _, e := range list {
		if e.ID != "x.bad" {
			h.command(e.ID)
		}
	}
	for range 2 {
		h.command("x.bad")
		h.command("x.a")
	}
	if h.starts["home"] != 3 {
		t.Errorf("the home was started %d times, not once and after each of two crashes", h.starts["home"])
	}
	for range 10 {
		h.command("x.bad")
		for _, e := range list {
			h.command(e.ID)
		}
	}
	if h.starts["home"] != 3 {
		t.Errorf("the home was started %d times in the end", h.starts["home"])
	}
	want := "home [x.lib x.a x.b x.c] home~x.bad [x.bad x.needs]"
	var got []string
	for _, host := range h.where.Hosts() {
		got = append(got, fmt.Sprint(host.Name("home"), " ", host.Members))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if !slices.Equal(h.records, []string{
		"noted [x.bad]: killed by SIGABRT: one crash isolates no extension",
		"isolated [x.bad]: it alone is a suspect in 2 of 2 crashes within 5m; it is on trial for 5m",
		"confirmed [x.bad]: killed by SIGABRT: it also crashes alone",
	}) {
		t.Errorf("%q", h.records)
	}
	for _, s := range h.active.All() {
		if s.State != activation.Active {
			t.Errorf("%s is %s", s.ID, s.State)
		}
	}
}
