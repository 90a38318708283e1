//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// leaver is a host with an extension that does something when it is deactivated; a
// grace of 0 is the default. It returns the folder in which the extension writes "done".
func leaver(t *testing.T, version string, grace time.Duration, leaves string) (dir string, sup *supervisor.Supervisor, h *supervisor.Host) {
	t.Helper()
	dir = t.TempDir()
	put(t, dir, "leaver", "1.0.0", "")
	written(t, filepath.Join(dir, "leaver"), "main.js", `const fs = require('fs'), path = require('path');
exports.activate = (context) => { require('vscode').commands.registerCommand('leaver.run', () => {}); };
const done = () => fs.writeFileSync(path.join(__dirname, '..', 'done'), '');
exports.deactivate = () => { `+leaves+` };
`)
	spec := extendedOf(t, version, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: filepath.Join(dir, "leaver")}} })
	spec.Stop.Grace = grace
	root, _ := vscode.Root(spec.Command)
	spec.Protocol = vscode.New(vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state")})
	sup, h = alone(t, spec)
	activates(t, sup, "leaver")
	return dir, sup, h
}

// By default extensions have the time that VS Code gives them to deactivate.
func TestDeactivateHasItsTime(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir, sup, h := leaver(t, version, 0, "return new Promise((resolve) => setTimeout(() => { done(); resolve(); }, 4000));")
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
			t.Error(err)
		}
		if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
			t.Errorf("%+v", e)
		}
		for _, line := range told(t, sup, record.KindExtension) {
			if strings.Contains(line, "were deactivated") {
				t.Error(line)
			}
		}
	})
}

// What a stop cuts short is named.
func TestDeactivateIsCutShort(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, sup, h := leaver(t, version, time.Second, "for (;;);")
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		e := h.Status().LastExit
		if e == nil {
			t.Fatal("it has not ended")
		}
		mentions(t, e.Reason, "killed by SIGTERM: it did not end within 500ms of its goodbye")
		eventually(t, func() bool {
			return slices.ContainsFunc(told(t, sup, record.KindExtension), func(line string) bool {
				return strings.Contains(line, "before all its extensions were deactivated: killed by SIGTERM") && strings.Contains(line, "hostsup.leaver")
			})
		}, "an event names the extension")
	})
}
