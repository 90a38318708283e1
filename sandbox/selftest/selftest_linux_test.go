//go:build !hostsup_posix

package selftest

import (
	"strings"
	"testing"
)

// TestRun is for looking closely at single attempts; all of them run in the
// integration tests.
func TestRun(t *testing.T) {
	rep, err := Run(t.Context(), Options{Dir: "/tmp", Only: only(), UID: 54321})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_ = rep.WriteText(&out)
	t.Log(out.String())
	for _, row := range rep.all() {
		for i, c := range row.Cells {
			t.Logf("%-8s %s/%s (%s)\n\twithout: %s\n\twithin:  %s", c.Verdict, row.Class, row.Name, rep.Columns[i], c.Control, c.Evidence)
		}
	}
}
