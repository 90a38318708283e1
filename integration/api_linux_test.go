//go:build linux

package integration

import (
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
)

// Extensions see the API that VS Code's own tests of it describe; each subtest is a behaviour, and
// docs/vscode-api-tests.md says which of those tests it stands for.
func TestExtensionAPI(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h := alone(t, edited(t, version, "api", func(_ *plan.Spec, o *vscode.Options) {
			o.Workspace = &vscode.Workspace{Folders: []string{t.TempDir()}}
		}))
		names := resultOf[[]string](t, h, "api.names")
		if len(names) == 0 {
			t.Fatal("the extension has no cases")
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				if wrong := resultOf[string](t, h, "api.run", name); wrong != "" {
					t.Error(wrong)
				}
			})
		}
	})
}
