package selftest

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Options choose what is tried.
type Options struct {
	// Levels are tried one after the other, a column each; empty takes the
	// strongest that works here and, where that is stronger, landlock.
	Levels []policy.Level
	// UID, for root, adds the columns of an ordinary user with this id, who
	// needs no account: the program is copied to where that user can run it.
	// 0 adds none.
	UID int
	// Ordinary has everything be confined by policies with Ordinary, as the exec
	// server confines the commands of its clients. It is for levels with namespaces.
	Ordinary bool
	// Within, with Ordinary, has every command ask for everything, within the policy
	// that it is confined by otherwise: as a client of an exec server that has a
	// sandbox of its own.
	Within bool
	// Only restricts to attempts whose "class/name" contains one of these; empty
	// takes all.
	Only []string
	// Dir is where folders are made, "" for os.TempDir. It must be on a disk
	// that others than the owner can reach.
	Dir string
	// Parallel is how many attempts run at once, 0 for two for each processor,
	// eight at most. One takes some 300 MiB of memory at the worst.
	Parallel int
	// Progress, when not nil, is called after every attempt, from any goroutine.
	Progress func(done, all int) `json:"-"`
}

// ErrUnsupported is returned by Run where there is nothing to test: this system
// is not Linux, or the program was built without confinement.
var ErrUnsupported = errors.New("there is no sandbox to test on this system")

// Run tries everything and reports. An error means that the report is not
// there or not whole: the context was cancelled, a level does not work here.
// What the attempts found is in the report: see [Report.Err].
func Run(ctx context.Context, opt Options) (*Report, error) { return run(ctx, opt, "") }
