// Package lifecycle holds the rules by which hosts live: the state machine of
// a host, the crash window, the back-off, the strategies of a group, the
// verdict "unresponsive" and the rungs of a stop.
//
// # Purity
//
// Everything here is a function of (state, event, now). Nothing in the package
// reads a clock, starts a goroutine, does I/O or knows an actor; randomness for
// jitter comes from a seed inside the state. The same inputs give the same
// effects, which is what the text scripts under testdata rely on.
//
// # Who carries it out
//
// Step returns effects in the order in which they are to be carried out. What a
// host tells its group, transitions included, must arrive in that order, and so
// must what the group tells each host. The caller (package actors) runs timers,
// processes and messages and feeds back what happened as events. Events about a
// life that is not the current one are ignored here, so that a late message of an
// old life does no harm.
//
// The effects of an event that ends one life and begins the next come in another
// order: those that begin the next life first, then all that is told.
//
// # Where something new goes
//
// What decides when a host starts, ends or starts again is an [Event], and what then has to
// be done an [Effect], here, with a script. What concerns messages, or adds to a life
// what the rules need not know, is an interceptor (package actors).
//
// # Requests and commands
//
// A host and its group decide beside each other. The host numbers what it asks of
// the group ([AskStart], [TellStop]), and each command of the group names the last
// request that it rests on. A start that rests on an older one is superseded: the
// group answers the later request with a command of its own.
package lifecycle
