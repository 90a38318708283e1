// Package location decides which extension runs in which host.
//
// # The rules
//
// A host is of a kind: a process, or a worker for extensions that have only a
// browser entry. Within a kind, hosts have numbers: 0 is the default, others
// come from the configured affinity, and the same number is the same host.
// Extensions that dependencies join share a host, as they call each other
// within it; of two numbers within such a family the one of the lower id counts.
//
// An extension that is put apart has a cell, a host of its own; cells of the
// same name are the same host. What depends on it goes with it, as it calls
// what its dependency exports and would not work elsewhere. What it depends on
// stays where it is: others need that too, and it is activated there first, but
// exports nothing into the cell. So nobody outside of a cell loses anything by
// it.
//
// # Stability
//
// [Assign] gives the same result for the same input. When the set of extensions
// changes, whatever runs stays where it is, even if a newcomer joins two
// families that live in two hosts; the newcomer goes where most of its family
// is. Only a changed number moves a family, and only a changed cell an
// extension with its dependents.
//
// # What it never does
//
// It does not start, stop or ask anything; it is a function of its argument and
// safe for concurrent use.
package location
