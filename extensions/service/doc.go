// Package service makes the extension the unit of supervision: it carries out
// what the machines of packages activation, location and blame decide, on the
// hosts of a supervisor.
//
// A [Service] manages the extensions of one host of the specification, its base, and
// adds further hosts like it, in the same group, when they are needed: "base-2" for an
// affinity, "base~name" for isolated extensions. It is an interceptor of all of them:
// it sends each new life its extensions, has them activated, tracks their activations
// and open calls, and when a life ends it decides which extensions move before the
// next life begins.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. One goroutine, the loop, owns the machines;
// it handles events in the order of their arrival and never blocks. Slow operations
// (starting, calling, searching) run on other goroutines, one after the other for each
// host. [Service.Close] ends all of them.
//
// # Errors
//
// An extension that cannot be used (a broken manifest, a dependency loop) is reported
// by an event and a line in the log; the others are not affected.
//
// # What it never does
//
// It does not restart crashed hosts: their own rules do. It moves no extension without
// a decision in the journal. An event does not start a host that a person has stopped.
package service
