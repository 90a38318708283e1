// Package location decides which extension runs in which host.
//
// # The rules
//
// A host has a kind: a process, or a worker for extensions that have only a browser
// entry. Within a kind, hosts have numbers: 0 is the default, others come from the
// configured affinity, and the same number is the same host. Extensions connected by
// dependencies are a family and share a host, because they call each other within
// it; if a family has two numbers, that of the lower id counts.
//
// An isolated extension has a cell, a host of its own; cells of the same name are
// the same host. Its dependents go with it, because they call its exports and would
// not work elsewhere. Its dependencies stay: others need them too. They are activated
// in their host first, but export nothing into the cell. So a cell has no effect on
// extensions outside of it.
//
// # Stability
//
// [Assign] gives the same result for the same input. When the set of extensions
// changes, running extensions stay where they are, even if a new one connects two
// families in two hosts; the new one goes where most of its family is. Only a
// changed number moves a family, and only a changed cell moves an extension with
// its dependents.
//
// # What it never does
//
// It does not start, stop or call hosts; it is a pure function and safe for
// concurrent use.
package location
