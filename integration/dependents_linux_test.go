//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/supervisor"
)

// putDependent writes an extension that needs another one, hostsup.low.
func putDependent(t testing.TB, root, name, event string) {
	t.Helper()
	put(t, root, name, "1.0.0", event)
	path := filepath.Join(root, name, "package.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	fields["extensionDependencies"] = []string{"hostsup.low"}
	if text, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	written(t, filepath.Dir(path), filepath.Base(path), string(text))
}

// Dependents become active when their dependency returns, or comes late, whether the
// host activates them at its start or an event does.
func TestDependencyReturns(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for name, event := range map[string]string{"at start": "*", "by event": "onLanguage:go"} {
			begin := func(t *testing.T, low bool) (dir string, sup *supervisor.Supervisor) {
				t.Helper()
				t.Parallel()
				dir = t.TempDir()
				putDependent(t, dir, "top", event)
				put(t, dir, "other", "1.0.0", event)
				if low {
					put(t, dir, "low", "1.0.0", "")
				}
				sup, _ = alone(t, extendedOf(t, version, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} }))
				if err := sup.Activate(ctx(t), "", event); low != (err == nil) {
					t.Fatal(err)
				}
				return dir, sup
			}
			active := func(t *testing.T, sup *supervisor.Supervisor) {
				t.Helper()
				for _, name := range []string{"low", "top", "other"} {
					eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
				}
			}
			t.Run("enabled "+name, func(t *testing.T) {
				_, sup := begin(t, true)
				active(t, sup)
				for range 2 {
					if err := sup.SetExtension(ctx(t), "", "hostsup.low", extensions.Disable); err != nil {
						t.Fatal(err)
					}
					eventually(t, func() bool {
						s := extensionOf(t, sup, "top")
						return s.State == "failed" && strings.HasPrefix(s.Why, "unknown dependency hostsup.low")
					}, "top fails")
					if err := sup.SetExtension(ctx(t), "", "hostsup.low", extensions.Enable); err != nil {
						t.Fatal(err)
					}
					active(t, sup)
				}
			})
			t.Run("found "+name, func(t *testing.T) {
				dir, sup := begin(t, false)
				if s := extensionOf(t, sup, "top"); s.State != "failed" {
					t.Errorf("%+v", s)
				}
				put(t, dir, "low", "1.0.0", "")
				if _, err := sup.RescanExtensions(ctx(t), ""); err != nil {
					t.Fatal(err)
				}
				active(t, sup)
			})
		}
	})
}

// An event of an extension in a loop of dependencies fails with the reason, unless the
// extension is disabled.
func TestActivateInALoop(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, extended(t, "broken"))
	var list *service.ActivationError
	err := sup.Activate(ctx(t), "", "onCommand:ying.run")
	if !errors.Is(err, service.ErrNotActive) || !errors.Is(err, activation.ErrRefused) || !errors.As(err, &list) || len(list.Errs) != 1 {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.ying: refused: loop of dependencies: hostsup.ying → hostsup.yang → hostsup.ying")
	if err := sup.SetExtension(ctx(t), "", "hostsup.ying", extensions.Disable); err != nil {
		t.Fatal(err)
	}
	if err := sup.Activate(ctx(t), "", "onCommand:ying.run"); err != nil {
		t.Errorf("%v, although it is disabled", err)
	}
}
