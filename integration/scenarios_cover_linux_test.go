//go:build linux

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutScenario are the extensions with code that ship with a release and have no scenario, and why.
var withoutScenario = map[string]string{
	"GitHub.copilot-chat": "its activation waits for a login at GitHub, and the package from npm lacks native modules that it needs",
}

// languageExtensions are those for which languageScenarios is.
var languageExtensions = []string{
	"vscode.configuration-editing", "vscode.css-language-features", "vscode.extension-editing", "vscode.html-language-features",
	"vscode.json-language-features", "vscode.markdown-language-features", "vscode.php-language-features", "vscode.typescript-language-features",
}

// All extensions with code that ship with a release and are not for languages have a scenario, or a reason
// why not.
func TestScenariosCoverWhatShips(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		covered := map[string]bool{}
		for _, s := range allScenarios() {
			covered[s.ID] = covered[s.ID] || s.Only == "" || s.Only == version
		}
		root := published(t, strings.TrimPrefix(releases[version].root, peerDir+"/"), "extensions")
		all, err := filepath.Glob(filepath.Join(root, "*", "package.json"))
		if err != nil || len(all) < 90 {
			t.Fatalf("%d extensions, %v", len(all), err)
		}
		for _, path := range all {
			var m struct{ Publisher, Name, Main, Browser string }
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			id := m.Publisher + "." + m.Name
			if m.Main+m.Browser == "" || slices.Contains(languageExtensions, id) {
				continue
			}
			switch why := withoutScenario[id]; {
			case covered[id] && why != "":
				t.Errorf("%s has a scenario, although %s", id, why)
			case !covered[id] && why == "":
				t.Errorf("%s has no scenario", id)
			}
		}
	})
}
