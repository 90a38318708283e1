//go:build linux

package integration

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
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

// An extension whose activation does not end is named after the bound, six times startup, and the other
// one is active. The command that it would have registered is not waited for either.
func TestActivateNamesWhatDoesNotEnd(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		d := daemonOf(t, configuredHost(t, version, "endless", "    startup = \"1s\"\n"))
		d.run()
		for _, event := range []string{"onStartupFinished", "onCommand:endless.run"} {
			code, out := d.verb("activate", event)
			if code != 1 || !strings.Contains(out, "acme.endless: still being activated: in code for ") || strings.Contains(out, "acme.quick") {
				t.Errorf("%s: exit code %d: %s", event, code, out)
			}
		}
		if _, out := d.verb("extensions", "code"); !strings.Contains(out, "activating") || !strings.Contains(out, "active") {
			t.Error(out)
		}
		d.end(syscall.SIGTERM)
	})
}

// Copilot Chat, which ships with 1.139.1, does not become active without a login. It is named after the
// bound.
func TestActivateNamesCopilotChat(t *testing.T) {
	peer(t, "node")
	dir := builtinExtension(t, "1.139.1", "copilot")
	sup, _ := alone(t, edited(t, "1.139.1", "hello", func(s *plan.Spec, _ *vscode.Options) {
		s.Folders, s.Startup = []manifest.Root{{Dir: dir}}, time.Second
	}))
	err := sup.Activate(ctx(t), "", "onStartupFinished")
	if !errors.Is(err, activation.ErrActivating) {
		t.Errorf("%v, expected %v", err, activation.ErrActivating)
	}
}
