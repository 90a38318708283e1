// Package policy describes what a confined process may read, write, run, reach
// and consume. It defines the policy, its named profiles, how policies are merged,
// and how a policy is validated. [Resolved] is a policy applied to one machine;
// package resolve computes it. Package sandbox enforces it.
//
// # What it promises
//
// The package never changes a [Policy]. Validation reports all mistakes at once,
// as [Error] values with the field, its position in the file and a remedy, in the
// order of the fields; entries keep their numbers. [Policy.Validate] checks
// the form only and gives the same result on every machine. All functions may be
// called concurrently; the package has no state.
//
// # What it never does
//
// It accesses no file, no user database and no kernel interface. It never guesses:
// an unknown name or a bound that cannot be enforced is an error.
package policy
