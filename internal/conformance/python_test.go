//go:build unix

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// The host in Python that docs/protocol.md shows keeps every rule that binds it.
func TestPythonHostOfThePageKeepsTheRequiredRules(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	_, _, _, tail := pageParts(t)
	_, code, found := strings.Cut(tail, "```python\n")
	code, _, ended := strings.Cut(code, "```\n")
	if !found || !ended {
		t.Fatal("docs/protocol.md shows no Python")
	}
	file := filepath.Join(t.TempDir(), "host.py")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Options{Command: []string{python, file}, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome == Broken || r.Outcome == Undecided {
			t.Error(describe(r))
		}
	}
	if n := report.Count(Passed); n < 30 {
		t.Errorf("only %d rules are kept", n)
	}
}
