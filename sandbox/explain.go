package sandbox

import (
	"context"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Explain runs cmd to its end under observation, and returns the smallest policy that
// the run needed, with the denials that led to it.
//
// Without cmd.Policy the command runs unconfined. denials lists what a policy without
// grants would have refused, and needed grants that. With cmd.Policy the command runs
// confined. denials lists what it was refused, and needed is cmd.Policy with grants
// for that; a program that ends at the first refusal may have to be explained again.
//
// The result covers this run only: another run may need more. NOTE: the command can
// attempt operations only to have them granted: a person must review needed before it
// is used.
//
// Set-user-id programs gain no rights while they are observed.
//
// When ctx is done, Explain kills the command and returns the error of ctx with the
// results so far. The error wraps [ErrUnsupported] if this system cannot observe.
func Explain(ctx context.Context, l *Launcher, cmd Command) (needed policy.Policy, denials []denial.Denial, e Exit, err error) {
	return explainRun(ctx, l, cmd)
}
