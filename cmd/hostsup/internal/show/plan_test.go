package show

import (
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// What Compare finds is shown as a line for each host that is touched.
func TestPlanText(t *testing.T) {
	host := func(name string, with func(*supervisor.HostSpec)) supervisor.HostSpec {
		h := supervisor.HostSpec{Name: name, Command: []string{"sleep", "1"}}
		if with != nil {
			with(&h)
		}
		return h
	}
	from := supervisor.Spec{Groups: []supervisor.GroupSpec{
		{Name: "editor", Hosts: []supervisor.HostSpec{host("same", nil), host("moves", nil), host("env", nil), host("rules", nil)}},
		supervisor.Alone(host("limits", nil)), supervisor.Alone(host("old", nil)),
	}}
	to := supervisor.Spec{MaxStarting: 2, OnFailed: supervisor.Exit, Groups: []supervisor.GroupSpec{
		{Name: "editor", Strategy: lifecycle.OneForAll, Hosts: []supervisor.HostSpec{
			host("same", nil),
			host("env", func(h *supervisor.HostSpec) { h.Env = map[string]string{"TOKEN": "hunter2"} }),
			host("rules", func(h *supervisor.HostSpec) { h.Restart.Window = time.Hour }),
		}},
		supervisor.Alone(host("limits", func(h *supervisor.HostSpec) { h.Resources = policy.Limits{Memory: 1 << 30} })),
		supervisor.Alone(host("moves", nil)), supervisor.Alone(host("new", nil)),
	}}
	plan := supervisor.Compare(from, to)
	text := func() string {
		var b strings.Builder
		if err := (Screen{}).Plan(&b, &control.Applied{Plan: plan}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := `~ env     env changed → restart
~ rules   restart.window changed → no restart
~ limits  limits.memory changed → restart
> moves   group editor → moves, restart
+ new
- old
* group editor: strategy one_for_one → one_for_all
* supervisor.on_failed changed
= 1 unchanged
! supervisor.max_starting changed → needs a new start
`
	if got := text(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for i := range plan.Hosts { // as a tree whose cgroups enforce it
		if plan.Hosts[i].Host == "limits" {
			plan.Hosts[i].Action = supervisor.ActionUpdate
		}
	}
	if got := text(); !strings.Contains(got, "~ limits  limits.memory changed → live\n") {
		t.Errorf("got:\n%s", got)
	}
}
