//go:build unix

package actors_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func sleeper(name string) supervisor.HostSpec {
	return supervisor.HostSpec{Name: name, Command: []string{"sleep", "1000"}}
}

// soon polls a condition.
func soon(t testing.TB, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("did not come true within a minute")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestDefects makes the actor of each level panic. What is lost is that actor
// with all below it; never the program, nor another host, nor the way to a
// clean end.
func TestDefects(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("the processes are looked for in /proc")
	}
	for _, row := range []struct {
		kind string
		name func(host string) string // of the actor, from that of the host's
		life uint64                   // of the host afterwards; 0: it is gone
	}{
		{"process", func(host string) string { return host + "/life-1/process" }, 2},
		{"life", func(host string) string { return host + "/life-1" }, 2},
		{"host", func(host string) string { return host }, 0},
		{"group", func(host string) string { return strings.TrimSuffix(host, "/victim") }, 0},
		{"root", func(host string) string { return strings.TrimSuffix(host, "/bad/victim") }, 1},
	} {
		t.Run(row.kind, func(t *testing.T) {
			system := safeactor.NewSystem(hclog.NewNullLogger())
			defer system.Shutdown()
			sup, err := supervisor.Start(within(t), supervisor.Spec{Groups: []supervisor.GroupSpec{
				{Name: "bad", Strategy: lifecycle.OneForAll, Hosts: []supervisor.HostSpec{sleeper("victim"), sleeper("brother")}},
				{Name: "good", Hosts: []supervisor.HostSpec{sleeper("other")}},
			}}, supervisor.WithSystem(system))
			if err != nil {
				t.Fatal(err)
			}
			if err := sup.Ready(within(t)); err != nil {
				t.Fatal(err)
			}
			victim, err := sup.Host("victim")
			if err != nil {
				t.Fatal(err)
			}
			other, err := sup.Host("other")
			if err != nil {
				t.Fatal(err)
			}
			pid := *victim.Status().PID
			system.Root.Send(actor.NewPID(victim.PID().Address, row.name(victim.PID().Id)), actors.Defect(row.kind))
			if row.life != 1 {
				soon(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) // its process ends with it
			}
			if row.life != 0 {
				soon(t, func() bool { s := victim.Status(); return s.State == lifecycle.Running && s.Life == row.life })
			} else if err := victim.Start(within(t)); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("start of a host that is gone: %v", err)
			}
			if row.kind == "host" { // those who share its fate do not wait for it
				brother, err := sup.Host("brother")
				if err != nil {
					t.Fatal(err)
				}
				soon(t, func() bool { return brother.Status().State == lifecycle.Stopped }) // as its group has it
				if err := brother.Start(within(t)); err != nil {
					t.Fatalf("a host that shared its fate: %v", err)
				}
				before := brother.Status()
				if err := syscall.Kill(*before.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				soon(t, func() bool { s := brother.Status(); return s.State == lifecycle.Running && s.Life > before.Life })
			}
			if s := other.Status(); s.State != lifecycle.Running || s.Life != 1 {
				t.Errorf("the other host: %+v", s)
			}
			if err := other.Restart(within(t)); err != nil {
				t.Errorf("the other host: %v", err)
			}
			if _, err := sup.Add(within(t), "", sleeper("new")); err != nil {
				t.Errorf("a new host: %v", err)
			}
			stopping, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := sup.Stop(stopping); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}
