//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	sandboxpolicy "github.com/hostsup/hostsup/sandbox/policy"
)

// A confined host has no settings and no workspace folders that its sandbox does not give it.
func TestWorkspaceOfConfinedHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		open, sealed, hidden, outside := filepath.Join(dir, "open"), filepath.Join(dir, "sealed"), filepath.Join(dir, "hidden"), filepath.Join(dir, "outside")
		opened(t, open, sealed, hidden, outside)
		secret := filepath.Join(hidden, ".vscode", "settings.json")
		opened(t, filepath.Dir(secret), filepath.Join(open, ".vscode"))
		written(t, filepath.Dir(secret), "settings.json", `{"editor.tabSize": 7}`)
		state := filepath.Join(dir, "state")
		opened(t, state)
		spec := edited(t, version, "configures", func(s *plan.Spec, o *vscode.Options) {
			joins := s.Folders[0]
			joins.Dir = filepath.Join(filepath.Dir(joins.Dir), "joins")
			s.Folders, s.Eager = append(s.Folders, joins), true
			o.State, o.Reconnect, o.Workspace = state, true, &vscode.Workspace{Folders: []string{open, sealed, hidden}}
		})
		confineHost(t, &spec, "configures", sandboxpolicy.Policy{
			Read: []string{sealed, hidden, filepath.Dir(spec.Extensions.Folders[1].Dir)}, Write: []string{open, state}, Deny: []string{secret},
		})
		sup, h := alone(t, spec)
		request(t, sup, "onCommand:configures.update")
		request(t, sup, "onCommand:joins.update")
		c := &configuring{t: t, sup: sup, host: h}
		const toFolder = 3
		set := func(folder string) updated {
			return c.update(map[string]any{"name": "editor.tabSize", "value": 5, "target": toFolder, "at": map[string]any{"path": folder}})
		}
		if out := set(open); out.Error != "" || out.Value != 5.0 {
			t.Errorf("a folder that it may write: %+v", out)
		}
		if out := set(sealed); !strings.Contains(out.Error, "WorkspaceConfiguration.update") || !strings.Contains(out.Error, "the sandbox of the host does not allow this") {
			t.Errorf("a folder that it may only read: %+v", out)
		}
		if _, err := os.Stat(filepath.Join(sealed, ".vscode")); err == nil {
			t.Error("the folder that must not be written was")
		}
		if value, _ := c.inspect(map[string]any{"name": "editor.tabSize", "at": map[string]any{"path": hidden}}); value == 7.0 {
			t.Error("a settings file that the host must not read has an effect")
		}
		if out := set(hidden); !strings.Contains(out.Error, "the sandbox of the host does not allow this") {
			t.Errorf("a settings file that it must not read: %+v", out)
		}
		c.holds(secret, `{"editor.tabSize": 7}`)

		before := []string{"open=" + open, "sealed=" + sealed, "hidden=" + hidden}
		if err := executes(t, h, nil, "joins.ask", outside); err != nil {
			t.Fatal(err)
		}
		for e := range sup.Events(ctx(t), 0, true) {
			if e.Kind == record.KindMessage {
				mentions(t, e.Reason, "workspace.updateWorkspaceFolders", outside, "the sandbox of the host does not allow this")
				break
			}
		}
		var folders []string
		if err := executes(t, h, &folders, "joins.folders"); err != nil || !slices.Equal(folders, before) {
			t.Errorf("%q, %v", folders, err)
		}
	})
}
