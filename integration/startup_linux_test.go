//go:build linux

package integration

import (
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
)

// What the host activates by itself at its start is waited for.
func TestActivateAtStart(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for event, name := range map[string]string{"*": "calm", "onStartupFinished": "late"} {
			for start, eager := range map[string]bool{"eager": true, "lazy": false} {
				t.Run(name+" "+start, func(t *testing.T) {
					t.Parallel()
					sup, _ := alone(t, extendedOf(t, version, "eager", func(s *plan.Spec) {
						s.Disabled, s.Eager = []string{"hostsup.boom"}, eager
					}))
					if err := sup.Activate(ctx(t), "", event); err != nil {
						t.Fatal(err)
					}
					if s := extensionOf(t, sup, name); s.State != "active" || s.Activation.Event != event {
						t.Errorf("%+v", s)
					}
				})
			}
		}
	})
}
