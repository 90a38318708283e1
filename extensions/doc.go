// Package extensions is the registry of extensions: their ids, their dependencies,
// and what changes for a host when extensions are added or removed. It also has what
// a supervisor reports of extensions: [Status] and [Difference].
//
// Packages below it build on that: manifest finds extensions in folders, activation
// decides when they are activated, location decides in which host they run, and
// blame decides which one caused a crash.
//
// # Purity
//
// Everything here is a function of its arguments. A [Registry] is a value: Apply
// returns a new one and does not change the old one. The package reads no clock and
// no file, starts no goroutine and has no state.
//
// # Order
//
// A registry keeps extensions in the order in which they were added. All results
// follow that order, so that the same list gives the same result.
//
// # What it never does
//
// It does not run extensions and does not call hosts. An extension with an unknown
// dependency stays in the registry, as hosts expect: its activation fails with the
// name of the dependency. Extensions in a dependency loop are never sent to a host,
// because the host would not survive them.
package extensions
