//go:build !hostsup_posix

package helper

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// A helper or a shim initialises only these packages before it begins. Every package here
// delays all of them, and a path that is late in the order waits for all before it.
func TestStartsEarly(t *testing.T) {
	const module = "github.com/hostsup/hostsup/internal/"
	first := []string{"golang.org/x/sys/unix", module + "sys", module + "helper"}
	for folder, want := range map[string][]string{".": first, "../shim/process": append(slices.Clone(first), module+"shim/process")} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", folder).Output()
		if err != nil {
			require.Missing(t, "the go command: %v", err)
		}
		if got := strings.Fields(string(out)); !slices.Equal(got, want) {
			t.Errorf("%s depends on %q", folder, got)
		}
		late := []string{"net", "net/netip", "os/signal", "os/exec", "path/filepath", "regexp", "text/template", "encoding/json", "context", "log"}
		out, err = exec.Command("go", "list", "-deps", folder).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(string(out)) {
			if slices.Contains(late, p) {
				t.Errorf("%s depends on %s", folder, p)
			}
		}
	}
}
