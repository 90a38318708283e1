// Package activation decides when extensions are activated, and in which order:
// callers request events, and the machine activates the extensions that declare
// them in their hosts, dependencies first.
//
// # The rules
//
// A host is started when an event that concerns it is requested, not before (unless
// it is eager). Hosts without such an extension get no message. The dependencies of
// an extension are active before it, even in another host; an extension without code
// counts as active. An extension is activated once; after a failure it is not tried
// again before its host has a new life. The machine remembers all requests, each
// event once and in order, and repeats them for a new life of a host and for an
// extension that is installed or moved later.
//
// At the start the machine requests "*", and asks the caller to search the workspace
// for every extension with workspaceContains events ([Search]). When all of that is
// done, or after [Rules].Startup, it requests onStartupFinished. HostSpec.Own marks
// hosts that do this themselves (VS Code's).
//
// # Purity
//
// Only [Machine.Step] changes a [Machine]. Step is a function of the state, the event
// and the time: no clock, no goroutine, no I/O, and the same events give the same
// effects in the same order. A Machine is not safe for concurrent use. Package
// workspace carries out a Search.
//
// # Duties of the caller
//
// The caller must carry out effects in their order and report their results. Reports
// about a life that is not the host's current one are ignored.
//
// # What it never does
//
// It does not decide whether a host that went down is started again: it starts idle
// hosts only. It has no deadlines except that of the startup; the caller must report
// an activation that takes too long as Failed.
package activation
