package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/internal/require"
)

// TestDependenciesAreDocumented compares docs/dependencies.md with the direct
// requirements of the main module and of bench.
func TestDependenciesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	own := slices.Concat(listedModules(t, string(page), "The library and the binary"), listedModules(t, string(page), "Tests"))
	main := directModules(t, "../..")
	if diff := cmp.Diff(main, sorted(own)); diff != "" {
		t.Errorf("docs/dependencies.md against go.mod (-required +listed):\n%s", diff)
	}

	peers := slices.DeleteFunc(directModules(t, "../../bench"), func(m string) bool {
		return m == "github.com/hostsup/hostsup" || slices.Contains(main, m)
	})
	if diff := cmp.Diff(peers, sorted(listedModules(t, string(page), "Peers in `bench/` (a module of its own)"))); diff != "" {
		t.Errorf("docs/dependencies.md against bench/go.mod (-required +listed):\n%s", diff)
	}
}

// listedModules returns the modules in the first column of the table of a
// section.
func listedModules(t *testing.T, page, section string) []string {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/dependencies.md has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	row := regexp.MustCompile(`(?m)^\| ([^|]*) \|`)
	module := regexp.MustCompile(`[a-z]+(\.[a-z]+)+/[\w./-]+`)
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		out = append(out, module.FindAllString(m[1], -1)...)
	}
	return out
}

// directModules returns the sorted direct requirements of the module in a
// folder.
func directModules(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit -json in %s: %v", dir, err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range mod.Require {
		if !r.Indirect {
			out = append(out, r.Path)
		}
	}
	return sorted(out)
}

// TestBinaryHasNoTestLibrary holds that the binary imports no library for tests:
// each start would initialise it.
func TestBinaryHasNoTestLibrary(t *testing.T) {
	cmd := exec.Command("go", "list", "-buildvcs=false", "-deps", ".")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && strings.Contains(said.String(), "permission denied") {
		require.Privilege(t, "modules that this user can read: %s", said.String())
	} else if err != nil {
		t.Fatalf("go list -deps: %v: %s", err, said.String())
	}
	for _, p := range strings.Fields(string(out)) {
		if p == "testing" || strings.HasPrefix(p, "github.com/google/go-cmp/") {
			t.Errorf("the binary has %s", p)
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
