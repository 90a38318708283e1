//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// configuring has a host with the extension that reads and writes settings.
type configuring struct {
	t       testing.TB
	sup     *supervisor.Supervisor
	host    *supervisor.Host
	user    string   // the file of the user's settings
	folders []string // of the workspace
}

// updated is what the extension has seen of an update.
type updated struct {
	Error string
	Value any
	Seen  []string
}

// configures starts a host with a number of workspace folders.
func configures(t testing.TB, version string, folders int) *configuring {
	t.Helper()
	dir := t.TempDir()
	c := &configuring{t: t, user: written(t, dir, "user.json", "{\n  // the user's own\n  \"editor.tabSize\": 3, // odd\n}\n")}
	work := &vscode.Workspace{}
	for i := range folders {
		c.folders = append(c.folders, filepath.Join(dir, string(rune('a'+i))))
		if err := os.Mkdir(c.folders[i], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if work.Folders = c.folders; folders == 0 {
		work = nil
	}
	extension, err := filepath.Abs("testdata/vscode/configures")
	if err != nil {
		t.Fatal(err)
	}
	c.sup, c.host = alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, State: filepath.Join(dir, "state"), Workspace: work, SettingsFile: c.user, Settings: map[string]any{"files.eol": "\n"},
		})
		s.Extensions = &plan.Spec{Folders: []manifest.Root{{Dir: extension}}, Eager: true}
	}))
	request(t, c.sup, "onCommand:configures.update")
	return c
}

// update updates a setting through the extension; target is a vscode.ConfigurationTarget.
func (c *configuring) update(args map[string]any) (out updated) {
	c.t.Helper()
	if err := executes(c.t, c.host, &out, "configures.update", args); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *configuring) refused(want string, args map[string]any) {
	c.t.Helper()
	if out := c.update(args); out.Error != want {
		c.t.Errorf("%v: %+v, want %q", args, out, want)
	}
}

func (c *configuring) inspect(args map[string]any) (value any, inspected map[string]any) {
	c.t.Helper()
	var out struct {
		Value   any
		Inspect map[string]any
	}
	if err := executes(c.t, c.host, &out, "configures.inspect", args); err != nil {
		c.t.Fatal(err)
	}
	return out.Value, out.Inspect
}

func (c *configuring) holds(path, want string) {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		c.t.Errorf("%s: %q, %v; want %q", path, text, err, want)
	}
}

// ConfigurationTarget of the public API.
const (
	global    = 1
	workspace = 2
	inFolder  = 3
)

func TestSettingsAreWritten(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		c := configures(t, version, 1)
		out := c.update(map[string]any{"name": "configures.window", "value": "new", "target": global})
		if out.Error != "" || out.Value != "new" || !slices.Equal(out.Seen, []string{"configures.window"}) {
			t.Errorf("%+v", out)
		}
		c.holds(c.user, "{\n  // the user's own\n  \"editor.tabSize\": 3, // odd\n  \"configures.window\": \"new\",\n}\n")

		// Without a target it is the workspace.
		out = c.update(map[string]any{"name": "configures.map", "value": map[string]any{"b": 2}})
		if out.Error != "" || len(out.Value.(map[string]any)) != 2 {
			t.Errorf("%+v", out)
		}
		c.update(map[string]any{"name": "configures.window", "value": "work", "target": workspace})
		file := filepath.Join(c.folders[0], ".vscode", "settings.json")
		c.holds(file, "{\n  \"configures.map\": {\n    \"b\": 2\n  },\n  \"configures.window\": \"work\"\n}\n")

		value, seen := c.inspect(map[string]any{"name": "configures.window"})
		if value != "work" || seen["defaultValue"] != "default" || seen["globalValue"] != "new" || seen["workspaceValue"] != "work" {
			t.Errorf("%v, %v", value, seen)
		}
		// It is removed again, and for a language.
		out = c.update(map[string]any{"name": "configures.window", "value": nil, "target": workspace})
		if out.Error != "" || out.Value != "new" {
			t.Errorf("%+v", out)
		}
		at := map[string]any{"path": c.folders[0] + "/x.go", "languageId": "go"}
		out = c.update(map[string]any{"name": "configures.language", "value": 7, "target": global, "at": at, "language": true})
		if out.Error != "" || out.Value != 7.0 {
			t.Errorf("%+v", out)
		}
		value, seen = c.inspect(map[string]any{"name": "configures.language", "at": at})
		if value != 7.0 || seen["globalLanguageValue"] != 7.0 || seen["defaultValue"] != 1.0 {
			t.Errorf("%v, %v", value, seen)
		}

		for want, args := range map[string]map[string]any{
			"Unable to write to User Settings because nobody.registered is not a registered configuration.":                      {"name": "nobody.registered", "value": 1, "target": global},
			"Unable to write configures.application to Workspace Settings. This setting can be written only into User settings.": {"name": "configures.application", "value": true, "target": workspace},
			"Unable to write to Folder Settings because no resource is provided.":                                                {"name": "configures.resource", "value": 1, "target": inFolder},
			"Unable to write to Folder Settings because configures.window does not support the folder resource scope.":           {"name": "configures.window", "value": "x", "target": inFolder, "at": map[string]any{"path": c.folders[0]}},
			"Unable to write to Language Settings because configures.window is not a resource language setting.":                 {"name": "configures.window", "value": "x", "target": global, "at": at, "language": true},
			"Unable to write files.eol because it is configured in system policy.":                                               {"name": "files.eol", "value": "auto", "target": global},
		} {
			c.refused(want, args)
		}

		// They are there in the next life, too.
		if err := c.host.Restart(ctx(t)); err != nil {
			t.Fatal(err)
		}
		request(t, c.sup, "onCommand:configures.update")
		if value, _ := c.inspect(map[string]any{"name": "configures.window"}); value != "new" {
			t.Errorf("%v after a restart", value)
		}
	})
}

func TestSettingsOfSeveralFolders(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		c := configures(t, version, 2)
		at := map[string]any{"path": c.folders[1] + "/x"}
		out := c.update(map[string]any{"name": "configures.resource", "value": 5, "at": at}) // by its scope: in the folder
		if out.Error != "" || out.Value != 5.0 {
			t.Errorf("%+v", out)
		}
		c.holds(filepath.Join(c.folders[1], ".vscode", "settings.json"), "{\n  \"configures.resource\": 5\n}\n")
		if value, seen := c.inspect(map[string]any{"name": "configures.resource", "at": at}); value != 5.0 || seen["workspaceFolderValue"] != 5.0 || seen["workspaceValue"] != nil {
			t.Errorf("%v, %v", value, seen)
		}
		if value, _ := c.inspect(map[string]any{"name": "configures.resource", "at": map[string]any{"path": c.folders[0]}}); value != 1.0 {
			t.Errorf("%v in the other folder", value)
		}
		out = c.update(map[string]any{"name": "configures.window", "value": "all", "target": workspace})
		if _, seen := c.inspect(map[string]any{"name": "configures.window"}); out.Error != "" || seen["workspaceValue"] != "all" {
			t.Errorf("%+v, %v", out, seen)
		}
	})
}

func TestSettingsNeedAWorkspace(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		c := configures(t, version, 0)
		c.refused("Unable to write to Workspace Settings because no workspace is opened. Please open a workspace first and try again.",
			map[string]any{"name": "configures.window", "value": "x"})
	})
}

// A file that somebody else changes: hosts get the settings, and mistakes are events.
func TestSettingsFilesAreWatched(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		c := configures(t, version, 1)
		has := func(name string, want any) {
			t.Helper()
			eventually(t, func() bool {
				value, _ := c.inspect(map[string]any{"name": name})
				return value == want
			}, name, want)
		}
		written(t, filepath.Dir(c.user), "user.json", `{"editor.tabSize": 5}`)
		has("editor.tabSize", 5.0)
		dir := filepath.Join(c.folders[0], ".vscode")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		written(t, dir, "settings.json", `{"editor.tabSize": 6, "configures.application": true}`)
		has("editor.tabSize", 6.0)
		if value, _ := c.inspect(map[string]any{"name": "configures.application"}); value != false {
			t.Errorf("a workspace has set a setting of the user: %v", value)
		}
		written(t, dir, "settings.json", "{\n\"editor.tabSize\": 7\n\"x\"}")
		for e := range c.sup.Events(ctx(t), 0, true) {
			if e.Kind == record.KindSettings {
				if !strings.Contains(e.Reason, filepath.Join(dir, "settings.json")+":3: ") {
					t.Error(e.Reason)
				}
				break
			}
		}
		has("editor.tabSize", 6.0)
		out := c.update(map[string]any{"name": "editor.tabSize", "value": 8, "target": workspace})
		if !strings.HasPrefix(out.Error, "Unable to write into workspace settings. Please open the workspace settings to correct errors/warnings in it and try again.") {
			t.Errorf("%+v", out)
		}
	})
}
