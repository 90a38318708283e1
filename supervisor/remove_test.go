//go:build unix

package supervisor_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// removals is a Part that is told of hosts that were taken out.
type removals chan *supervisor.Host

func (removals) Identity() (kind, name string) { return "removals", "" }
func (removals) Validate() error               { return nil }

func (r removals) Open(supervisor.Tree) (*supervisor.Opened, error) {
	return &supervisor.Opened{Removed: func(_ context.Context, h *supervisor.Host) error {
		r <- h
		return nil
	}}, nil
}

// A host is forgotten when it was taken out, also when whoever asked for that has not
// waited for it, and not when its removal was refused.
func TestRemovedHostIsForgotten(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sleeper := func(name string, needs ...string) supervisor.HostSpec {
		return supervisor.HostSpec{
			Name: name, Command: []string{"sleep", "1000"}, Start: hostspec.StartRule{DependsOn: needs},
			Stop: hostspec.StopRule{Signal: syscall.SIGCONT, Grace: 300 * time.Millisecond}, // a signal that ends nothing
		}
	}
	told := make(removals, 10)
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{
		Groups: []supervisor.GroupSpec{{Name: "g", Hosts: []supervisor.HostSpec{sleeper("db"), sleeper("web", "db")}}},
		Parts:  []supervisor.Part{told},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := sup.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	handle := func(name string) *supervisor.Host {
		h, err := sup.Host(name)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	db, web := handle("db"), handle("web")
	if err := sup.Remove(ctx, "db"); err == nil || len(told) != 0 || handle("db") != db {
		t.Errorf("a host that is needed: %v, %d were told of", err, len(told))
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if err := sup.Remove(short, "web"); !errors.Is(err, context.DeadlineExceeded) || len(told) != 0 || handle("web") != web {
		t.Errorf("%v, %d were told of", err, len(told))
	}
	select {
	case h := <-told:
		if _, err := sup.Host("web"); h != web || !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%v, %v", h, err)
		}
	case <-ctx.Done():
		t.Fatal("the part was not told of a removal that nobody waited for")
	}
	again, err := sup.Add(ctx, "g", sleeper("web", "db"))
	if err != nil || again == web {
		t.Fatalf("%v, %v", again, err)
	}
	if err := again.Wait(ctx, lifecycle.Running); err != nil {
		t.Error(err)
	}
}
