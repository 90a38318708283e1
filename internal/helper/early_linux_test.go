//go:build !hostsup_posix

package helper

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// A helper initialises only these packages before it begins. Every package here delays
// every helper, and a path that is late in the order waits for all before it.
func TestStartsEarly(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		require.Missing(t, "the go command: %v", err)
	}
	const module = "github.com/hostsup/hostsup/internal/"
	if got, want := strings.Fields(string(out)), []string{"golang.org/x/sys/unix", module + "sys", module + "helper"}; !slices.Equal(got, want) {
		t.Errorf("depends on %q", got)
	}
	late := []string{"net", "net/netip", "os/signal", "os/exec", "path/filepath", "regexp", "text/template", "encoding/json", "context", "log"}
	out, err = exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if slices.Contains(late, p) {
			t.Errorf("depends on %s", p)
		}
	}
}
