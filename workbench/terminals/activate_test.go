package terminals

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench"
)

// Tasks are fetched after the extensions that contribute their type are active, or have taken too long.
func TestFetchActivatesExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		s := New(Options{Activate: func(ctx context.Context, event string) error {
			mu.Lock()
			events = append(events, event)
			mu.Unlock()
			if event == "onTaskType:slow" {
				<-ctx.Done()
			}
			return ctx.Err()
		}})
		fetch := func(filter map[string]string) (got []string, took time.Duration) {
			t.Helper()
			events = nil
			start := time.Now()
			c := workbench.NewCall((*actors.Ref)(nil), 1, "MainThreadTask.$fetchTasks", workbench.Params(filter))
			if out, err := s.fetch(t.Context(), c); err != nil || len(out.([]json.RawMessage)) > 0 {
				t.Errorf("%v, %v", out, err)
			}
			slices.Sort(events)
			return events, time.Since(start)
		}
		same := func(got []string, took time.Duration, want []string, wantTook time.Duration) {
			t.Helper()
			if !slices.Equal(got, want) || took != wantTook {
				t.Errorf("%q in %s, want %q in %s", got, took, want, wantTook)
			}
		}
		got, took := fetch(nil)
		same(got, took, nil, 0)
		s.Describe([]json.RawMessage{
			[]byte(`{"contributes":{"taskDefinitions":[{"type":"gulp"},{"type":"slow"},{"type":""}]}}`),
			[]byte(`{"contributes":{"taskDefinitions":"none"}}`), []byte(`{"contributes":{"taskDefinitions":[{"type":"gulp"}]}}`), []byte(`{}`),
		})
		got, took = fetch(map[string]string{"type": "gulp"})
		same(got, took, []string{"onTaskType:gulp"}, 0)
		got, took = fetch(map[string]string{"type": "other"})
		same(got, took, nil, 0)
		got, took = fetch(nil)
		same(got, took, []string{"onTaskType:gulp", "onTaskType:slow"}, activationTime)
		s.Describe(nil)
		got, took = fetch(nil)
		same(got, took, nil, 0)
	})
}
