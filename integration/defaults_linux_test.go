//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
)

// putSettings writes an extension that contributes to the configuration. Its
// commands tell what settings are, what they were in activate, and which changes
// it has heard of since it was asked last. event is a further one that activates
// it.
func putSettings(t testing.TB, root, name, version, event, contributes string) {
	t.Helper()
	put(t, root, name, version, "")
	for file, text := range map[string]string{
		"package.json": fmt.Sprintf(`{"name": %q, "publisher": "hostsup", "version": %q, "engines": {"vscode": "^1.60.0"}, "main": "./main.js",
 "activationEvents": [%q], "contributes": {"commands": [{"command": "%[1]s.get", "title": "Get"},
  {"command": "%[1]s.began", "title": "Began"}, {"command": "%[1]s.heard", "title": "Heard"}], %[4]s}}`, name, version, event, contributes),
		"main.js": fmt.Sprintf(`const vscode = require('vscode');
exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('%s.' + name, run));
  const get = (key, languageId) => vscode.workspace.getConfiguration(undefined, { languageId }).get(key);
  const began = [get('late.size'), get('late.size', 'go')];
  const heard = [];
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((e) => heard.push([
    ['late', 'late.size', 'late.words', 'watch', 'watch.level', 'other'].filter((key) => e.affectsConfiguration(key)).join(' '),
    ['go', 'css'].filter((languageId) => e.affectsConfiguration('late.size', { languageId })).join(' '),
    get('late.size'),
  ])));
  command('get', get);
  command('began', () => began);
  command('heard', () => heard.splice(0));
};
`, name),
	} {
		if err := os.WriteFile(filepath.Join(root, name, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lateSettings are what an extension contributes that comes to a host that runs.
func lateSettings(size int) string {
	return fmt.Sprintf(`"configuration": {"properties": {"late.size": {"type": "integer", "default": %d}, "late.words": {"type": "array"}}},
 "configurationDefaults": {"[go]": {"late.size": 8}}`, size)
}

// A host has the defaults of the extensions that it has, also of those that come
// and go while it runs, before they are activated; and tells the others.
func TestDefaultsOfExtensionsThatComeAndGo(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(t.TempDir(), "settings.json")
			if err := os.WriteFile(file, []byte(`{"mine.x": 1, "late.words": ["w"]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			putSettings(t, dir, "watch", "1.0.0", "onCommand:watch.get", `"configuration": {"properties": {"watch.level": {"default": 1}}}`)
			sup, h := alone(t, edited(t, version, "editor", func(s *plan.Spec, o *vscode.Options) {
				s.Folders, o.SettingsFile = []manifest.Root{{Dir: dir}}, file
			}))
			says := func(want, command string, args ...any) {
				t.Helper()
				var out json.RawMessage
				if err := h.Call(ctx(t), command, args, &out); err != nil || string(out) != want {
					t.Errorf("%s %v: %s, %v; want %s", command, args, out, err, want)
				}
			}
			rescan := func(n int) {
				t.Helper()
				if list, err := sup.RescanExtensions(ctx(t), "vs"); err != nil || len(list) != n {
					t.Fatalf("%v, %v", list, err)
				}
			}
			set := func(id string, verb extensions.Verb) {
				t.Helper()
				if err := sup.SetExtension(ctx(t), "vs", "hostsup."+id, verb); err != nil {
					t.Fatal(err)
				}
			}
			const none = `null`
			says(none, "watch.get", "late.size")

			// One comes.
			putSettings(t, dir, "late", "1.0.0", "onCommand:late.get", lateSettings(4))
			rescan(1)
			says(`[["late late.size late.words","go css",4]]`, "watch.heard")
			says(`4`, "watch.get", "late.size")
			says(`8`, "watch.get", "late.size", "go")
			says(`["w"]`, "watch.get", "late.words")
			says(`1`, "watch.get", "mine.x")

			// It changes, in one thing, and goes.
			putSettings(t, dir, "late", "2.0.0", "onCommand:late.get", lateSettings(5))
			rescan(1)
			says(`[["late late.size","css",5]]`, "watch.heard")
			set("late", extensions.Disable)
			says(`[["late late.size late.words","go css",null]]`, "watch.heard")
			says(none, "watch.get", "late.size")
			says(none, "watch.get", "late.size", "go")
			says(`["w"]`, "watch.get", "late.words")

			// It comes again, and is activated. Others without settings are nobody's
			// concern, nor is where it lives.
			set("late", extensions.Enable)
			says(`[["late late.size late.words","go css",5]]`, "watch.heard")
			put(t, dir, "plain", "1.0.0", "")
			rescan(1)
			says(`"1.0.0"`, "plain.run")
			set("late", extensions.Isolate)
			says(`[5,8]`, "late.began")
			says(`[]`, "watch.heard")
			if s := extensionOf(t, sup, "late"); s.Place != "vs~hostsup.late" {
				t.Errorf("%+v", s)
			}

			// All hosts are told, before who comes is activated, who here has defaults
			// for the settings of others.
			putSettings(t, dir, "over", "1.0.0", "*", `"configurationDefaults": {"late.size": 6, "watch.level": 2}`)
			rescan(1)
			says(`[["late late.size watch watch.level","css",6]]`, "watch.heard")
			says(`[["late late.size watch watch.level","css",6]]`, "late.heard")
			says(`[6,8]`, "over.began")
			says(`[]`, "over.heard")
			says(`6`, "late.get", "late.size")
			says(`2`, "watch.get", "watch.level")
			for _, name := range []string{"vs", "vs~hostsup.late"} {
				if s := host(t, sup, name).Status(); s.State != lifecycle.Running || s.Life != 1 {
					t.Errorf("%s: %s, life %d", name, s.State, s.Life)
				}
			}
		})
	}
}
