//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lang "github.com/hostsup/hostsup/workbench/language"
)

const scenariosPage = "../docs/scenarios.md"

// The page of scenarios is as their lists say. -update writes it.
func TestScenariosPage(t *testing.T) {
	page, err := os.ReadFile(scenariosPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), "\n## Extensions\n")
	if !ok {
		t.Fatalf("%s has no heading Extensions", scenariosPage)
	}
	all := allScenarios()
	steps, names := 0, map[string]bool{}
	for _, s := range all {
		steps += len(s.Steps)
		if names[s.ID] {
			t.Errorf("there are two scenarios %q", s.ID)
		}
		names[s.ID] = true
	}
	var body strings.Builder
	fmt.Fprintf(&body, "%s\n## Extensions\n\n%d extensions, with %d questions and commands.\n\n", head, len(all), steps)
	fmt.Fprintf(&body, "| extension | version with 1.100.3 | with 1.139.1 | features | commands | what is not there |\n|---|---|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&body, "| `%s` | %s | %s | %s | %s | %s |\n", s.ID, s.version(t, "1.100.3"), s.version(t, "1.139.1"), s.features(), s.commands(), s.lacks())
	}
	fmt.Fprintf(&body, "\n## Features and doors\n\n"+
		"The name of each feature in each door; a test asks the doors themselves. Agents have `language_action` as well: the edits of one of the code actions.\n\n%s", doorTable())
	body.WriteString("\n## Doors without an answer\n\n| feature | door | why |\n|---|---|---|\n")
	for _, door := range []string{doorVerb, doorLSP, doorMCP} {
		for _, f := range slices.Sorted(maps.Keys(absentFeatures[door])) {
			fmt.Fprintf(&body, "| %s | %s | %s |\n", f, door, absentFeatures[door][f])
		}
	}
	if body.String() == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not current: go test -run TestScenariosPage ./integration -update", scenariosPage)
	}
	if err := os.WriteFile(scenariosPage, []byte(body.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// version returns the version of the extension with a release.
func (s scenario) version(t testing.TB, release string) string {
	t.Helper()
	if s.Only != "" && s.Only != release {
		return "–"
	}
	for _, e := range s.Extensions {
		if strings.HasPrefix(e, "own:") || e == "typescript-next" {
			continue
		}
		var dir string
		if name, client := strings.CutPrefix(e, "client:"); client {
			return manifestOf(t, published(t, serverPackage(name))).Version
		}
		if name, npm := strings.CutPrefix(e, "npm:"); npm {
			dir = published(t, name)
		} else {
			dir = builtinExtension(t, release, e)
		}
		manifest := manifestOf(t, dir)
		if strings.EqualFold(manifest.Publisher+"."+manifest.Name, s.ID) {
			return manifest.Version
		}
	}
	t.Errorf("no extension of the scenario %s has that name", s.ID)
	return ""
}

// extensionManifest is what names an extension.
type extensionManifest struct{ Publisher, Name, Version string }

func manifestOf(t testing.TB, dir string) (m extensionManifest) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// features returns the features of a scenario, each once.
func (s scenario) features() string {
	var out []string
	for _, step := range s.Steps {
		if step.Command == "" && !slices.Contains(out, step.String()) {
			out = append(out, step.String())
		}
	}
	return strings.Join(out, ", ")
}

// commands returns the commands of a scenario.
func (s scenario) commands() string {
	var out []string
	for _, step := range s.Steps {
		if name := "`" + step.Command + "`"; step.Command != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// lacks returns what a scenario does not have, and why.
func (s scenario) lacks() string {
	var out []string
	for _, why := range []string{s.Lacks, s.Why} {
		if why != "" {
			out = append(out, why)
		}
	}
	for _, step := range s.Steps {
		for _, door := range slices.Sorted(maps.Keys(step.Without)) {
			out = append(out, fmt.Sprintf("%s through %s: %s", step, door, step.Without[door]))
		}
	}
	return strings.Join(out, "; ")
}

// Each feature that is not in a door is one that scenarios could ask for.
func TestAbsentFeaturesAreKnown(t *testing.T) {
	for door, features := range absentFeatures {
		for f, why := range features {
			if _, known := lspMethods[f]; !known && f != lang.FeatureWorkspaceSymbol || why == "" {
				t.Errorf("%s: %q, %q", door, f, why)
			}
		}
	}
}
