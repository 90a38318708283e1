package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// supervised starts the scripted host of a rule of hostsup.
func supervised(t *testing.T, rule string) (context.Context, *supervisor.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	again := lifecycle.Never
	if rule == "V17" {
		again = lifecycle.OnCrash
	}
	sup, err := supervisor.Start(ctx, supervisor.Spec{StateDir: t.TempDir(), Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "scripted", Command: []string{hostProgram}, Env: map[string]string{asHost: rule, "GORACE": "atexit_sleep_ms=0"}, Protocol: native.New(),
		Restart: lifecycle.RestartRule{Policy: again}, Start: hostspec.StartRule{Lazy: true},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	host, err := sup.Host("scripted")
	if err != nil {
		t.Fatal(err)
	}
	return ctx, host
}

// goes calls the method that makes the host play its script.
func goes(ctx context.Context, host *supervisor.Host) (out any, err error) {
	err = host.Call(ctx, "kit/go", nil, &out)
	return out, err
}

// crashes holds that the connection ends, with a reason that has this text.
func crashes(reason string) func(*testing.T, context.Context, *supervisor.Host) {
	return func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if _, err := goes(ctx, host); !errors.Is(err, supervisor.ErrCrashed) || !strings.Contains(err.Error(), reason) {
			t.Errorf("the call ends with %v, want a crash by %q", err, reason)
		}
	}
}

// supervisorSide is what the caller sees, by rule.
var supervisorSide = map[string]func(*testing.T, context.Context, *supervisor.Host){
	"V1":  crashes(codec.ErrNoCredit.Error()),
	"V2":  streamCrashes,
	"V3":  crashes("4242"),
	"V4":  crashes("4242"),
	"V5":  crashes(codec.ErrEmpty.Error()),
	"V6":  crashes(codec.ErrTooLarge.Error()),
	"V7":  crashes("invalid byte"),
	"V8":  crashes(codec.ErrTrailing.Error()),
	"V9":  crashes("kind"),
	"V10": crashes(codec.ErrDepth.Error()),
	"V11": crashes(codec.ErrTruncated.Error()),
	"V12": crashes("capability ack is not in force"),
	"V13": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if out, err := goes(ctx, host); err != nil || out != "first" {
			t.Errorf("%v, %v", out, err)
		}
		if err := host.Wait(ctx, lifecycle.Stopped); err != nil {
			t.Error(err)
		}
		if why := host.Status().Reason; why == nil || !strings.Contains(*why, "response") {
			t.Errorf("the reason is %v", why)
		}
	},
	"V14": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if out, err := goes(ctx, host); err != nil || out != "first" {
			t.Errorf("%v, %v", out, err)
		}
		lives(t, ctx, host)
	},
	"V15": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		lives(t, ctx, host)
		gives, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if _, err := goes(gives, host); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		lives(t, ctx, host)
	},
	"V16": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if err := host.Start(ctx); !errors.Is(err, supervisor.ErrCrashed) || !strings.Contains(err.Error(), "early") {
			t.Error(err)
		}
	},
	"V17": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if err := host.Start(ctx); err == nil || !strings.Contains(err.Error(), codec.ErrVersion.Error()) {
			t.Error(err)
		}
		if err := host.Wait(ctx, lifecycle.Failed); err != nil {
			t.Error(err)
		}
		if state := host.State(); state != lifecycle.Failed || host.Life() != 1 {
			t.Errorf("%v in life %d", state, host.Life())
		}
	},
	"V18": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		host.Handle("kit/hold", func(ctx context.Context, _ *actors.Incoming) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if out, err := goes(ctx, host); err != nil || !equal(out, []any{257, "Overloaded"}) {
			t.Errorf("%v, %v", out, err)
		}
	},
	"V19": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if out, err := goes(ctx, host); err != nil || out != true {
			t.Errorf("%v, %v", out, err)
		}
	},
	"V20": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		if _, err := goes(ctx, host); err != nil {
			t.Fatal(err)
		}
		if err := host.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if exit := host.Status().LastExit; exit == nil || exit.Code == nil || *exit.Code != 42 {
			t.Errorf("%+v, want the status of a host that has read shutdown and the end", exit)
		}
	},
	"V21": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		var e *codec.Error
		if _, err := goes(ctx, host); !errors.As(err, &e) || e.Message != "listed" || e.Code != 7 {
			t.Error(err)
		}
	},
	"V22": func(t *testing.T, ctx context.Context, host *supervisor.Host) {
		n := 0
		for raw, err := range host.Stream(ctx, "kit/go", nil) {
			var v any
			if err == nil {
				err = host.Encoding().Unmarshal(raw, &v)
			}
			if err != nil || !equal(v, n) {
				t.Fatalf("item %d: %v, %v", n, v, err)
			}
			n++
		}
		if n != 5000 {
			t.Errorf("%d items", n)
		}
	},
}

func streamCrashes(t *testing.T, ctx context.Context, host *supervisor.Host) {
	var last error
	for _, last = range host.Stream(ctx, "kit/go", nil) {
	}
	if !errors.Is(last, supervisor.ErrCrashed) || !strings.Contains(last.Error(), "item 1 where 0 is next") {
		t.Errorf("the stream ends with %v", last)
	}
}

// lives holds that the host still answers in its first life.
func lives(t *testing.T, ctx context.Context, host *supervisor.Host) {
	t.Helper()
	var out string
	if err := host.Call(ctx, "still", nil, &out); err != nil || out != "STILL" || host.Life() != 1 {
		t.Errorf("%q, %v in life %d", out, err, host.Life())
	}
}

func TestSupervisorKeepsItsRules(t *testing.T) {
	for _, rule := range supervisorRules {
		play := supervisorSide[rule.ID]
		if play == nil {
			t.Errorf("%s is not played", rule.ID)
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			ctx, host := supervised(t, rule.ID)
			play(t, ctx, host)
		})
	}
	for id := range supervisorSide {
		if !slices.ContainsFunc(supervisorRules, func(r Rule) bool { return r.ID == id }) {
			t.Errorf("%s is played, and no rule", id)
		}
	}
}
