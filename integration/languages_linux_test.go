//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// speaks calls a command of the extension and compares its result, a list.
func speaks(t testing.TB, h *supervisor.Host, want ...string) {
	t.Helper()
	var out []string
	if err := executes(t, h, &out, "speaks.languages"); err != nil || len(out) != len(want) {
		t.Fatalf("%q, %v; want %q", out, err, want)
	}
	for i := range out {
		if out[i] != want[i] {
			t.Errorf("%q, want %q", out, want)
		}
	}
}

// Extensions are told the languages of all extensions, also of those without code, and of one that
// comes by a rescan.
func TestLanguages(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/vscode/languages")); err != nil {
			t.Fatal(err)
		}
		later := filepath.Join(t.TempDir(), "codeless")
		if err := os.Rename(filepath.Join(dir, "codeless"), later); err != nil {
			t.Fatal(err)
		}
		sup, h := alone(t, edited(t, version, "languages", func(s *plan.Spec, _ *vscode.Options) { s.Folders[0].Dir = dir }))
		speaks(t, h, "plaintext", "esperanto")
		if err := executes(t, h, nil, "speaks.status", "1887"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(later, filepath.Join(dir, "codeless")); err != nil {
			t.Fatal(err)
		}
		if _, err := sup.RescanExtensions(ctx(t), ""); err != nil {
			t.Fatal(err)
		}
		speaks(t, h, "plaintext", "esperanto", "volapuk")
	})
}
