// Package service makes the extension the unit of supervision: it carries out
// what the machines of packages activation, location and blame decide, on the
// hosts of a supervisor.
//
// A [Service] looks after the extensions of one host of the specification, its
// base, and makes further hosts like it, in the same group, as they are needed:
// "base-2" for an affinity, "base~name" for extensions that are put apart. It is
// the companion of all of them: it tells each new life which extensions there
// are, has them activated, hears what becomes of that and whose calls are open,
// and when a life ends it says who moves before the next one begins.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. One goroutine owns the machines; what
// happens is worked off in the order in which it is told, and that goroutine
// waits for nobody. What takes time (starting, calling, searching) is done
// beside it, for each host one thing after the other. [Service.Close] ends all
// of them.
//
// # Errors
//
// An extension that cannot be used (a broken manifest, a loop of dependencies)
// is an event and a line in the log, and the rest goes on without it.
//
// # What it never does
//
// It does not restart hosts that have crashed: their own rules do. It moves
// nobody without a decision in the journal. A host that a person has stopped is
// not started by an event.
package service
