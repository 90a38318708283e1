//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
)

// An extension may register any number of commands at once: each of them is known
// afterwards.
func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"package.json": `{"name":"burst","publisher":"hostsup","version":"1.0.0","engines":{"vscode":"^1.60.0"},"main":"./main.js",
			"contributes":{"commands":[{"command":"burst.run","title":"Run"}]}}`,
		"main.js": `'use strict';
const vscode = require('vscode');
exports.activate = (context) => {
  vscode.commands.registerCommand('burst.run', async () => {
    for (let i = 0; i < 3000; i++) vscode.commands.registerCommand('burst.n' + i, () => i);
    const all = await vscode.commands.getCommands();
    return all.filter((c) => c.startsWith('burst.n')).length;
  });
};
`,
	}
	if err := os.Mkdir(filepath.Join(dir, "burst"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "burst", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sup, h := alone(t, extended(t, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} }))
	activates(t, sup, "burst")
	var n int
	if err := executes(t, h, &n, "burst.run"); err != nil || n != 3000 {
		t.Errorf("%d commands are known, %v", n, err)
	}
}
