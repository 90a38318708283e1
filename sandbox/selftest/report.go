package selftest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Class is what an attempt is about.
type Class string

// The classes, in the order of a report.
const (
	Files      Class = "files"
	OwnCode    Class = "own code"
	Devices    Class = "devices"
	Cgroups    Class = "cgroups"
	Network    Class = "network"
	Processes  Class = "other processes"
	Privileges Class = "privileges"
	Calls      Class = "dangerous calls"
	Terminal   Class = "terminal"
	Leaks      Class = "environment"
	Exhaustion Class = "exhaustion"
	Outliving  Class = "outliving"
)

// Classes returns all classes, in the order of a report.
func Classes() []Class {
	return []Class{
		Files, OwnCode, Devices, Cgroups, Network, Processes, Privileges, Calls,
		Terminal, Leaks, Exhaustion, Outliving,
	}
}

// Verdict is what came of an attempt in one column.
type Verdict string

// The verdicts.
const (
	Held     Verdict = "held"     // it works without a sandbox and did not work in it
	Escaped  Verdict = "ESCAPED"  // it worked in the sandbox
	Gap      Verdict = "gap"      // it worked, and this level does not promise otherwise: Cell.Evidence begins with what is missing, or why it is not promised
	Refused  Verdict = "refused"  // the policy that the attempt is about is refused at this level before the start
	Vacuous  Verdict = "vacuous"  // it does not work without a sandbox either, so it proves nothing
	Broken   Verdict = "BROKEN"   // the process did not get as far as trying, or the judge could not tell
	Works    Verdict = "works"    // Report.Work: as it should be
	NotTried Verdict = "not here" // what it takes is not on this machine; Cell.Evidence says what
)

// Column is one way of running all attempts.
type Column struct {
	User    string       `json:"user"` // "root", or "user" for an ordinary one
	UID     int          `json:"uid"`
	Level   policy.Level `json:"level"`
	Missing []string     `json:"missing"` // what of the level is not enforced, as Child.Confinement says it
}

// Cell is one attempt in one column.
type Cell struct {
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"` // what was seen in the sandbox; one line
	Control  string  `json:"control"`  // what was seen without it; one line
}

// Row is one attempt.
type Row struct {
	Class   Class  `json:"class"`
	Name    string `json:"name"`
	About   string `json:"about"`   // what is tried
	Witness string `json:"witness"` // "outside", or "inside" where only the process itself can know
	Cells   []Cell `json:"cells"`   // one for each column
}

// Report is what came of all attempts.
type Report struct {
	Kernel  string   `json:"kernel"` // release and architecture
	Seconds float64  `json:"seconds"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"` // attempts to get out
	Work    []Row    `json:"work"` // what a confined process must be able to do
}

// ErrEscaped is what [Report.Err] wraps when something got out.
var ErrEscaped = errors.New("the sandbox does not hold")

// ErrBroken is what [Report.Err] wraps when nothing got out, but not all could
// be tried, or a confined process cannot do what it must.
var ErrBroken = errors.New("the self-test is broken")

// Err is nil when nothing escaped, everything was tried and all that must work does.
func (r *Report) Err() error {
	if escaped := r.cells(r.Rows, Escaped); len(escaped) > 0 {
		return fmt.Errorf("%w: %d of %d attempts escaped: %s", ErrEscaped, len(escaped), len(r.Rows)*len(r.Columns), strings.Join(escaped, "; "))
	}
	if broken := r.cells(r.all(), Broken); len(broken) > 0 {
		return fmt.Errorf("%w: %d of %d could not be judged or do not work: %s", ErrBroken, len(broken), len(r.all())*len(r.Columns), strings.Join(broken, "; "))
	}
	return nil
}

// cells names those of rows with this verdict, with their columns.
func (r *Report) cells(rows []Row, v Verdict) (names []string) {
	for i, col := range r.Columns {
		for _, row := range rows {
			if row.Cells[i].Verdict == v {
				names = append(names, fmt.Sprintf("%s: %s/%s: %s", col, row.Class, row.Name, row.Cells[i].Evidence))
			}
		}
	}
	return names
}

// Counts are the numbers of the verdicts on the attempts in a column.
func (r *Report) Counts(column int) map[Verdict]int { return counts(r.Rows, column) }

func counts(rows []Row, column int) map[Verdict]int {
	n := map[Verdict]int{}
	for _, row := range rows {
		n[row.Cells[column].Verdict]++
	}
	return n
}

func (r *Report) all() []Row { return slices.Concat(r.Rows, r.Work) }

// add puts the columns of another report of the same attempts beside its own.
func (r *Report) add(other *Report) error {
	same := func(a, b Row) bool { return a.Class == b.Class && a.Name == b.Name }
	if !slices.EqualFunc(r.Rows, other.Rows, same) || !slices.EqualFunc(r.Work, other.Work, same) {
		return errors.New("reports of different attempts")
	}
	join := func(rows, others []Row) {
		for i := range rows {
			rows[i].Cells = append(rows[i].Cells, others[i].Cells...)
		}
	}
	join(r.Rows, other.Rows)
	join(r.Work, other.Work)
	r.Columns = append(r.Columns, other.Columns...)
	r.Seconds += other.Seconds
	return nil
}
