//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{sleeper("db")}}}})
	add := func(group string, h supervisor.HostSpec) error {
		_, err := sup.Add(ctx(t), group, h)
		return err
	}
	remove := func(name string) error { return sup.Remove(ctx(t), name) }

	// Into a group, with what it needs; by itself; into a group that is new.
	for group, h := range map[string]supervisor.HostSpec{"editor": demoHost("ts", after("db")), "": demoHost("mcp"), "tools": demoHost("lint")} {
		if err := add(group, h); err != nil {
			t.Fatal(err)
		}
		echoes(t, host(t, sup, h.Name))
	}
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a host's name":          add("", sleeper("ts")),
		"a lone host's name":     add("editor", sleeper("mcp")),
		"a group's name":         add("", sleeper("editor")),
		"a group's name, inside": add("tools", sleeper("editor")),
	} {
		if !errors.Is(err, supervisor.ErrNameTaken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"no command":      add("", supervisor.HostSpec{Name: "x"}),
		"no name":         add("", sleeper("")),
		"a bad name":      add("", sleeper("../x")),
		"a bad group":     add("a b", sleeper("x")),
		"a bad transport": add("", demoHost("x", through("pigeon"))),
	} {
		if !errors.Is(err, supervisor.ErrSpec) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var order *lifecycle.OrderError
	if err := add("editor", sleeper("x", after("nobody"))); !errors.As(err, &order) || order.Name != "nobody" {
		t.Errorf("a dependency that is not there: %v", err)
	}
	if _, err := sup.Host("x"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("after all that was refused: %v", err)
	}

	if err := remove("db"); err == nil {
		t.Error("a host that is needed was taken out")
	}
	old := host(t, sup, "ts")
	for _, name := range []string{"ts", "db", "mcp", "lint"} {
		if err := remove(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := remove(name); !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%s again: %v", name, err)
		}
	}
	for what, err := range map[string]error{
		"call":  old.Call(ctx(t), "echo", 1, nil),
		"start": old.Start(ctx(t)),
		"wait":  func() error { _, err := sup.Host("ts"); return err }(),
	} {
		if !errors.Is(err, supervisor.ErrStopped) && !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%s of a host that was taken out: %v", what, err)
		}
	}
	if s := sup.Status(); len(s.Hosts) != 0 || len(s.Groups) != 0 {
		t.Errorf("left: %+v", s)
	}
	// The names are free again.
	for group, h := range map[string]supervisor.HostSpec{"editor": sleeper("ts"), "": sleeper("mcp"), "tools": sleeper("lint")} {
		if err := add(group, h); err != nil {
			t.Errorf("%s once more: %v", h.Name, err)
			continue
		}
		until(t, host(t, sup, h.Name), lifecycle.Running)
	}
	var kinds []string
	for _, e := range sup.History() {
		if e.Kind == "added" || e.Kind == "removed" {
			kinds = append(kinds, e.Kind)
		}
	}
	if want := slices.Concat(slices.Repeat([]string{"added"}, 3), slices.Repeat([]string{"removed"}, 4), slices.Repeat([]string{"added"}, 3)); !slices.Equal(kinds, want) {
		t.Errorf("events %v", kinds)
	}
	end(t, sup)
	if err := add("", sleeper("late")); !errors.Is(err, supervisor.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := remove("ts"); !errors.Is(err, supervisor.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestRemoveInEveryState takes a host out, whatever it is doing.
func TestRemoveInEveryState(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{})
	for _, row := range []struct {
		state lifecycle.State
		with  []change
		get   steps
	}{
		{state: lifecycle.Stopped, with: []change{lazy}},
		{state: lifecycle.Starting, with: []change{startsLike("never"), grace(100 * time.Millisecond)}},
		{state: lifecycle.Running},
		{state: lifecycle.Unresponsive, with: []change{reported, grace(100 * time.Millisecond)}, get: steps{is(lifecycle.Running), sends(syscall.SIGSTOP)}},
		{state: lifecycle.Restarting, with: []change{patient}, get: steps{is(lifecycle.Running), exits(3), lives(2), exits(3)}},
		{state: lifecycle.Failed, with: []change{crashes(1)}, get: steps{is(lifecycle.Running), exits(3)}},
		{state: lifecycle.Stopping, with: []change{startsLike("ignore-term"), grace(700 * time.Millisecond)},
			get: steps{is(lifecycle.Running), does(func(sc *scene) { go func() { _ = sc.h.Stop(context.Background()) }() })}},
	} {
		t.Run(string(row.state), func(t *testing.T) {
			name := "ts-" + string(row.state)
			for range 2 { // the second time under the same name
				if _, err := sup.Add(ctx(t), "", demoHost(name, row.with...)); err != nil {
					t.Fatal(err)
				}
				sc := &scene{t, sup, host(t, sup, name)}
				for _, do := range row.get {
					do(sc)
				}
				is(row.state)(sc)
				pid := sc.h.Status().PID
				if err := sup.Remove(ctx(t), name); err != nil {
					t.Fatal(err)
				}
				if pid != nil && syscall.Kill(*pid, 0) == nil {
					t.Errorf("process %d is still there", *pid)
				}
			}
		})
	}
}

// TestAddManyAtOnce has everybody add and remove at the same time.
func TestAddManyAtOnce(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Strategy: lifecycle.OneForAll}}})
	back := make(chan error)
	const many = 8
	for i := range many {
		go func() {
			back <- func() error {
				for range 5 {
					group := ""
					if i%2 == 0 {
						group = "editor"
					}
					h := sleeper(fmt.Sprintf("h%d", i))
					if _, err := sup.Add(ctx(t), group, h); err != nil {
						return fmt.Errorf("add: %w", err)
					}
					ref, err := sup.Host(h.Name)
					if err != nil {
						return err
					}
					if err := ref.Wait(ctx(t), lifecycle.Running); err != nil {
						return fmt.Errorf("wait: %w", err)
					}
					if err := sup.Remove(ctx(t), h.Name); err != nil {
						return fmt.Errorf("remove: %w", err)
					}
				}
				return nil
			}()
		}()
	}
	for range many {
		if err := <-back; err != nil {
			t.Error(err)
		}
	}
}
