//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/selftest"
)

// update writes what the test has found into the documentation.
var update = flag.Bool("update", false, "write the table of the escape suite into docs/security.md")

// TestEscapes tries to get out of the sandbox, with the program as it is
// shipped: at the strongest level and without namespaces, as this user and, if
// that is root, as an ordinary one too.
func TestEscapes(t *testing.T) {
	if sandbox.Probe().Level == confine.None {
		require.Missing(t, "confinement of any kind")
	}
	rep := escapes(t, true)
	root := os.Getuid() == 0

	if len(rep.Rows) < 200 || len(rep.Work) < 15 {
		t.Errorf("%d attempts and %d things that must work", len(rep.Rows), len(rep.Work))
	}
	if want := 2; root && len(rep.Columns) != 2*want || !root && len(rep.Columns) > want {
		t.Errorf("columns %v", rep.Columns)
	}
	for i, col := range rep.Columns {
		n := rep.Counts(i)
		// A suite whose controls fail would pass by holding nothing.
		if n[selftest.Held] < len(rep.Rows)/2 {
			t.Errorf("%s: only %d of %d held", col, n[selftest.Held], len(rep.Rows))
		}
		for _, row := range rep.Rows {
			// docs/security.md says why this one cannot be held.
			if col.Level == confine.Full && row.Cells[i].Verdict == selftest.Gap && row.Name != "set-uid-shared-mapping" {
				t.Errorf("%s: %s is a gap, and there must be none: %s", col, row.Name, row.Cells[i].Evidence)
			}
		}
		for _, class := range selftest.Classes() {
			held := 0
			for _, row := range rep.Rows {
				if row.Class == class && row.Cells[i].Verdict == selftest.Held {
					held++
				}
			}
			// An ordinary user may do little with cgroups in the first place.
			if held == 0 && (col.UID == 0 || class != selftest.Cgroups) {
				t.Errorf("%s: nothing held in class %s", col, class)
			}
		}
	}
	for _, row := range rep.Rows {
		for i, c := range row.Cells {
			// Only what takes the machine's own devices or settings, or cgroups that
			// an ordinary user has none of, may be missing.
			if c.Verdict == selftest.NotTried && row.Class != selftest.Devices && row.Class != selftest.Privileges && row.Class != selftest.Cgroups {
				t.Logf("%s: %s/%s was not tried: %s", rep.Columns[i], row.Class, row.Name, c.Evidence)
				if require.All() {
					t.Error("and it has to be")
				}
			}
		}
	}
	if *update {
		if err := updateTable(rep); err != nil {
			t.Error(err)
		}
	}
}

// TestEscapesOfExecServerCommands is TestEscapes for commands that are confined as
// those of the exec server's clients, who are shown more of the machine: by what a
// client asks for, and by the server's own sandbox around a client's that asks for
// everything.
func TestEscapesOfExecServerCommands(t *testing.T) {
	if !sandbox.Probe().Level.AtLeast(confine.NoCgroup) {
		require.Missing(t, "confinement with namespaces")
	}
	for _, flag := range []string{"--exec-server", "--exec-server-sandbox"} {
		t.Run(flag, func(t *testing.T) {
			rep := escapes(t, require.Thorough(), flag)
			for i, col := range rep.Columns {
				if n := rep.Counts(i)[selftest.Held]; n < len(rep.Rows)/2 {
					t.Errorf("%s: only %d of %d held", col, n, len(rep.Rows))
				}
			}
		})
	}
}

// escapes runs the selftest of the program as it is shipped, as this user and, if
// that is root, as an ordinary one too, unless both is false. Nothing may get out.
func escapes(t *testing.T, both bool, flags ...string) *selftest.Report {
	t.Helper()
	args := append([]string{"sandbox", "selftest", "--json", "--dir", place(t, os.Getuid())}, flags...)
	if both && os.Getuid() == 0 {
		args = append(args, "--uid", strconv.Itoa(ordinary))
	}
	// Half a minute on a machine that does nothing else.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, hostsupBinary(t), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	rep := new(selftest.Report)
	if e := json.Unmarshal(out, rep); e != nil {
		t.Fatalf("%v, %v: %s", err, e, errs.Bytes())
	}
	var table strings.Builder
	if err := rep.WriteText(&table); err != nil {
		t.Fatal(err)
	}
	t.Log(table.String())
	if err != nil {
		t.Errorf("%v: %s", err, errs.Bytes())
	}
	if (err == nil) != (rep.Err() == nil) {
		t.Errorf("the program says %v, and its report %v", err, rep.Err())
	}
	return rep
}

// updateTable puts the report between two lines of docs/security.md.
func updateTable(rep *selftest.Report) error {
	const path, begin, end = "../docs/security.md", "<!-- escape suite: begin -->\n", "<!-- escape suite: end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return errors.New(path + " has no place for the table")
	}
	var b strings.Builder
	if err := rep.WriteMarkdown(&b); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(head+begin+b.String()+end+tail), 0o644)
}
