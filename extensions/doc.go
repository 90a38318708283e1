// Package extensions knows which extensions there are: their ids, what each
// of them needs, and what changes for a host when extensions come and go.
//
// Packages beside it build on that: manifest finds extensions in folders,
// activation decides when one is activated, location in which host it runs,
// blame whose fault a crash is.
//
// # Purity
//
// Everything here is a function of its arguments. A [Registry] is a value: its
// Apply returns another one and leaves it as it was. Nothing reads a clock or a
// file, starts a goroutine or keeps anything.
//
// # Order
//
// A registry lists extensions as they are given: what is removed leaves, what
// is added comes last. Everything that is computed from it follows that order,
// so that the same list gives the same result.
//
// # What it never does
//
// It does not run an extension and does not ask a host. An extension whose
// dependency is unknown stays in the registry, as hosts expect it: its
// activation fails and names what is missing. Extensions in a loop of
// dependencies never get to a host, which would not survive them.
package extensions
