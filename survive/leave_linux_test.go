//go:build !hostsup_posix

package survive_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// TestLeave hands hosts of all protocols from one supervisor to the next, several times: the processes and lives stay,
// calls work, and what was remembered of crashes is.
func TestLeave(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Shell: []string{"s"}, Run: "echo begun; exec sleep 1000", RPC: true}
	sup, err := supervisor.Start(t.Context(), p.spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := host(t, sup, "h")
	if err := h.Call(t.Context(), "exit", map[string]any{"code": 9}, nil); err == nil {
		t.Error("a host that exits has answered")
	}
	pidOf(t, h)
	for range 3 {
		var names []string
		pids, lives := map[string]int{}, map[string]uint64{}
		for _, h := range sup.Hosts() {
			h := h
			poll.Until(t, 20*time.Second, h.Name()+" runs", func() bool { return h.Status().State == lifecycle.Running && h.Status().PID != nil })
			st := h.Status()
			names, pids[st.Name], lives[st.Name] = append(names, st.Name), *st.PID, st.Life
		}
		poll.Until(t, 20*time.Second, "all hosts are kept", func() bool { return len(survive.Kept(p.State, p.spec().Groups)) == len(names) })
		before := host(t, sup, "h").Status()
		begun := time.Now()
		if got := survive.Leave(sup.Hosts()); !slices.Equal(got, names) {
			t.Fatalf("%v stay, expected %v", got, names)
		}
		if err := sup.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		stopped := time.Since(begun)
		for name, pid := range pids {
			if !runs(pid) {
				t.Errorf("process %d of %s was ended", pid, name)
			}
		}
		if sup, err = supervisor.Start(t.Context(), p.spec()); err != nil {
			t.Fatal(err)
		}
		if err := sup.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d hosts: left after %s, taken back after %s", len(names), stopped, time.Since(begun))
		for _, h := range sup.Hosts() {
			if st := h.Status(); st.State != lifecycle.Running || st.PID == nil || *st.PID != pids[st.Name] || st.Life != lives[st.Name] {
				t.Errorf("%s: %+v, expected process %d of life %d", st.Name, st, pids[st.Name], lives[st.Name])
			}
		}
		if got := host(t, sup, "h").Status().CrashesInWindow; got != before.CrashesInWindow || got != 1 {
			t.Errorf("%d crashes are remembered, and before %d, expected 1", got, before.CrashesInWindow)
		}
		var echo string
		if err := host(t, sup, "h").Call(t.Context(), "echo", "hello", &echo, actors.Patient()); err != nil || echo != "hello" {
			t.Errorf("%q, %v", echo, err)
		}
	}
	if err := sup.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if l := left(t, p.State); len(l) > 0 {
		t.Errorf("left after a stop: %v", l)
	}
}

// TestLeaveWhileStarting leaves hosts that have not finished their handshake: they are not among those that stay, and end.
func TestLeaveWhileStarting(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Env: map[string]string{"HOSTSUP_DEMO_START": "never"}}
	sup, err := supervisor.Start(t.Context(), p.spec())
	if err != nil {
		t.Fatal(err)
	}
	h := host(t, sup, "h")
	poll.Until(t, 20*time.Second, "it has a process", func() bool { return h.Status().PID != nil })
	pid := *h.Status().PID
	if got := survive.Leave(sup.Hosts()); len(got) > 0 {
		t.Errorf("%v stay", got)
	}
	if err := sup.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if runs(pid) || len(left(t, p.State)) > 0 {
		t.Errorf("left: process %d, %v", pid, left(t, p.State))
	}
}
