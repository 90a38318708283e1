//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
)

// putDeclarative writes an extension without code.
func putDeclarative(t testing.TB, root, name string) {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	written(t, dir, "package.json", `{"name": "`+name+`", "publisher": "hostsup", "version": "1.0.0", "engines": {"vscode": "^1.60.0"},
 "contributes": {"languages": [{"id": "`+name+`", "extensions": [".`+name+`"]}]}}`)
}

// Extensions without code are in vscode.extensions.all, and there is nothing to activate.
func TestExtensionsWithoutCode(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		putDeclarative(t, dir, "words")
		putDeclarative(t, dir, "low") // which another one needs
		putDependent(t, dir, "sees", "")
		written(t, filepath.Join(dir, "sees"), "main.js", `const vscode = require('vscode');
exports.activate = (context) => context.subscriptions.push(vscode.commands.registerCommand('sees.run', async () => {
  const words = vscode.extensions.getExtension('hostsup.words');
  const id = words ? words.packageJSON.contributes.languages[0].id : "";
  if (words) await words.activate();
  return [id, ...vscode.extensions.all.map((e) => e.id).filter((id) => id.startsWith('hostsup.')).sort()];
}));
`)
		sup, h := alone(t, extendedOf(t, version, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} }))
		sees := func(want ...string) {
			t.Helper()
			var got []string
			if err := h.Call(ctx(t), "sees.run", nil, &got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		request(t, sup, "*", "onCommand:sees.run")
		sees("words", "hostsup.low", "hostsup.sees", "hostsup.words")
		for _, name := range []string{"words", "low"} {
			if s := extensionOf(t, sup, name); s.State != extensions.Declarative || s.Place != "" || s.Why != "" {
				t.Errorf("%+v", s)
			}
		}
		// They come and go while the host runs, even one that was "activated".
		putDeclarative(t, dir, "more")
		if _, err := sup.RescanExtensions(ctx(t), ""); err != nil {
			t.Fatal(err)
		}
		sees("words", "hostsup.low", "hostsup.more", "hostsup.sees", "hostsup.words")
		if err := sup.SetExtension(ctx(t), "", "hostsup.words", extensions.Disable); err != nil {
			t.Fatal(err)
		}
		sees("", "hostsup.low", "hostsup.more", "hostsup.sees")
		if s := h.Status(); s.Life != 1 {
			t.Errorf("%+v", s)
		}
	})
}
