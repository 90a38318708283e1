package sandbox

import (
	"context"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Explain runs cmd to its end, with everything observed, and tells the
// smallest policy that the run needed, with what led to it.
//
// Without cmd.Policy the command runs unconfined, as far as its own rights go,
// and denials are what a policy that grants nothing would have refused; needed
// is made of them. With cmd.Policy it runs confined by it; denials are what it
// was refused, and needed is cmd.Policy with what would have spared that: a
// program that gives up at the first refusal may have to be explained again.
//
// What is found is what this run did: another one may need more. It is in the
// hands of the command, which can try things for no other purpose than to be
// granted them: needed is for a person to read before it is used.
//
// Set-user-id programs gain nothing while they are observed.
//
// A ctx that ends kills the command, and its error is returned with what was
// found so far. The error wraps [ErrUnsupported] where nothing can be
// observed.
func Explain(ctx context.Context, l *Launcher, cmd Command) (needed policy.Policy, denials []denial.Denial, e Exit, err error) {
	return explainRun(ctx, l, cmd)
}
