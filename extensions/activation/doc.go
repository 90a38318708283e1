// Package activation decides when extensions are activated, and in which
// order: events are requested, the extensions that wait for them are activated
// in the hosts that they belong to, what they need first.
//
// # The rules
//
// A host is started when something that concerns it is requested, not before
// (unless it is eager). Nothing is said to a host in which nobody is
// interested. What an extension needs is active before it, be it in another
// host; what has no code counts as active. An extension is activated once; one
// that has failed is not tried again before its host has a new life. What was
// requested is remembered, each event once and in order: a new life of a host,
// and an extension that is installed or moved later, get the same requests
// again.
//
// At the start "*" is requested, and for every extension with
// workspaceContains events the caller is asked to look ([Search]). When all of
// that is done, or after [Rules].Startup, onStartupFinished follows. Hosts that
// do this by themselves (VS Code's) are told apart by HostSpec.Own.
//
// # Purity
//
// A [Machine] is changed by [Machine.Step] alone, which is a function of what
// it was, the event and the time: no clock, no goroutine, no I/O, and the same
// events give the same effects in the same order. It is not safe for
// concurrent use. What a Search asks for is done by package workspace.
//
// # Who carries it out
//
// Effects are to be carried out in their order. The caller feeds back what
// became of them; reports of a life that is not the host's current one are
// ignored.
//
// # What it never does
//
// It does not decide whether a host that went down is started again: it asks
// for starts of hosts that are idle only. It does not wait for a deadline but
// the one of the startup; an activation that takes too long is reported as
// Failed by the caller.
package activation
