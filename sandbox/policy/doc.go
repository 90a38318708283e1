// Package policy says what a confined process may read, write, run, reach and
// use up: the data, its named profiles, how one policy adds to another, what is
// wrong with one, and what it comes to on this machine at this moment. It
// starts nothing and enforces nothing; package sandbox does.
//
// # From words to paths
//
// [Policy.Validate] looks at the form alone and gives the same answer on every
// machine. [Resolve] looks at the file system: it follows links, finds what
// patterns match, and lays out grants and denials so that whoever enforces
// them has no more to decide. It is a picture of one moment; what is enforced
// is what was resolved right before the start.
//
// # What it promises
//
// A [Policy] is plain data and is never changed by this package. Everything
// that is wrong with one is found at once and told as [Error] values that name
// the field, the place in the file it came from and what would work. Order is
// that of the fields, and entries keep their numbers. All functions may be
// called concurrently; none keeps state.
//
// # What it never does
//
// It never guesses: a path that is missing, a bound that cannot be held or a
// name that is unknown is an error, unless the policy itself says that it may
// be missing (a dash in front of the path). It never asks what the kernel can
// enforce; that is the Launcher's part.
package policy
