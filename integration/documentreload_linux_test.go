//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
)

// A document without changes has the text of its file when that changes. The document of a confined
// host does not follow a link to a file that the host may not read, which is put in the place of
// the file.
func TestDocumentsAreReloaded(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		secret := tree(t, map[string]string{"secret.txt": "the secret"})
		dir := tree(t, map[string]string{"a.txt": "one", "b.txt": "one"})
		spec := edited(t, version, "texts", func(_ *plan.Spec, opt *vscode.Options) { opt.Reconnect = true })
		confined(t, &spec, dir)
		_, h := alone(t, spec)
		a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
		for _, path := range []string{a, b} {
			if got := resultOf[documentState](t, h, "writer.open", path); got.Text != "one" {
				t.Fatalf("%+v", got)
			}
		}
		if err := os.Symlink(filepath.Join(secret, "secret.txt"), b+"~"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(b+"~", b); err != nil {
			t.Fatal(err)
		}
		// The change of a file that is noticed after that of b, in the same folder.
		for _, text := range []string{"two", "three"} {
			if err := os.WriteFile(a, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return resultOf[editorState](t, h, "writer.state").text("a.txt") == text }, text)
		}
		state := resultOf[editorState](t, h, "writer.state")
		for _, d := range state.Documents {
			if strings.Contains(d.Text, "secret") {
				t.Errorf("%+v", d)
			}
		}
		if state.text("b.txt") != "one" {
			t.Errorf("%+v", state)
		}
	})
}
