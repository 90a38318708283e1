// Package policy says what a confined process may read, write, run, reach and
// use up: the data, its named profiles, how one policy adds to another, and what
// is wrong with one. [Resolved] is what a policy comes to on a machine, which
// package resolve finds out. It enforces nothing; package sandbox does.
//
// # What it promises
//
// A [Policy] is plain data and is never changed by this package. Everything
// that is wrong with one is found at once and told as [Error] values that name
// the field, the place in the file it came from and what would work. Order is
// that of the fields, and entries keep their numbers. [Policy.Validate] looks at
// the form alone and gives the same answer on every machine. All functions may be
// called concurrently; none keeps state.
//
// # What it never does
//
// It touches nothing: no file, no user, no kernel. It never guesses: a bound that
// cannot be held or a name that is unknown is an error.
package policy
