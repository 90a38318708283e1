package terminals

import (
	"context"
	"testing"

	"github.com/hostsup/hostsup/workbench"
)

// A host may send anything as a task.
func TestNullIsNoTask(t *testing.T) {
	t.Parallel()
	s := New(Options{Folder: func() string { return "/projects" }})
	for method, m := range s.Methods() {
		switch method {
		case "MainThreadTask.$createTaskId", "MainThreadTask.$getTaskExecution", "MainThreadTask.$executeTask":
			do := m.Do
			switch {
			case m.Now != nil:
				do = func(_ context.Context, c *workbench.Call) (any, error) { return m.Now(c) }
			case m.Begin != nil:
				do = func(ctx context.Context, c *workbench.Call) (any, error) { return m.Begin(c)(ctx) }
			}
			if _, err := do(t.Context(), workbench.NewCall(nil, 1, method, []byte(`[null]`))); err == nil {
				t.Errorf("%s: null was taken for a task", method)
			}
		}
	}
	if got := string(withID([]byte("null"))); got != "null" {
		t.Errorf("null became %s", got)
	}
}
