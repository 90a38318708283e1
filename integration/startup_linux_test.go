//go:build linux

package integration

import (
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
)

// What the host activates by itself at its start is waited for.
func TestActivateAtStart(t *testing.T) {
	t.Parallel()
	for event, name := range map[string]string{"*": "calm", "onStartupFinished": "late"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, _ := alone(t, extended(t, "eager", func(s *plan.Spec) { s.Disabled = []string{"hostsup.boom"} }))
			if err := sup.Activate(ctx(t), "", event); err != nil {
				t.Fatal(err)
			}
			if s := extensionOf(t, sup, name); s.State != "active" || s.Activation.Event != event {
				t.Errorf("%+v", s)
			}
		})
	}
}
