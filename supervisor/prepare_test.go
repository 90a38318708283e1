//go:build unix

package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const patience = time.Minute

// prepared is a host without a protocol that prepares its lives, in a tree that ends
// with the test.
func prepared(t *testing.T, prepare func(context.Context, uint64) (supervisor.Prepared, error)) (context.Context, *supervisor.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "prepared", Command: []string{"/bin/sh", "-c", `echo "port $PORT of $NAME, token $1"; exec sleep 1000`, "sh"},
		Env: map[string]string{"NAME": "all", "PORT": "none"}, Prepare: prepare, Restart: lifecycle.RestartRule{MaxCrashes: 1},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	host, err := sup.Host("prepared")
	if err != nil {
		t.Fatal(err)
	}
	return ctx, host
}

func TestPrepareGivesEachLifeItsOwn(t *testing.T) {
	ctx, host := prepared(t, func(_ context.Context, life uint64) (supervisor.Prepared, error) {
		return supervisor.Prepared{Env: map[string]string{"PORT": fmt.Sprint(4000 + life)}, Args: []string{fmt.Sprint("t-", life)}}, nil
	})
	if err := host.Wait(ctx, lifecycle.Running); err != nil {
		t.Fatal(err)
	}
	if err := host.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	for line := range host.Follow(ctx, 10) {
		if want := fmt.Sprintf("port %d of all, token t-%d", 4000+line.Life, line.Life); line.Text != want {
			t.Errorf("life %d: %q, want %q", line.Life, line.Text, want)
		}
		if line.Life == 2 {
			return
		}
	}
	t.Error("the second life has written nothing")
}

func TestPrepareThatFailsIsAFailedStart(t *testing.T) {
	for name, prepare := range map[string]func(context.Context, uint64) (supervisor.Prepared, error){
		"prepare: no port is free": func(context.Context, uint64) (supervisor.Prepared, error) {
			return supervisor.Prepared{}, errors.New("no port is free")
		},
		"prepare: panic: no port": func(context.Context, uint64) (supervisor.Prepared, error) { panic("no port") },
	} {
		ctx, host := prepared(t, prepare)
		if err := host.Wait(ctx, lifecycle.Failed); err != nil {
			t.Fatal(err)
		}
		if reason := host.Status().Reason; reason == nil || !strings.Contains(*reason, name) {
			t.Errorf("reason %v, want %q", reason, name)
		}
	}
}

func TestPrepareEndsWhenTheHostIsStopped(t *testing.T) {
	began := make(chan struct{})
	ctx, host := prepared(t, func(ctx context.Context, _ uint64) (supervisor.Prepared, error) {
		close(began)
		<-ctx.Done()
		return supervisor.Prepared{}, ctx.Err()
	})
	<-began
	if err := host.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if st := host.Status(); st.State != lifecycle.Stopped || st.PID != nil {
		t.Errorf("%s, pid %v", st.State, st.PID)
	}
}
