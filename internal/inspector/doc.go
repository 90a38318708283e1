// Package inspector speaks with the inspector of node processes: it has a
// running one open its port, takes CPU profiles and heap snapshots over the
// Chrome DevTools Protocol, and closes the port again.
//
// # Whom it touches
//
// A process is sent SIGUSR1 only when its program is node and it has a handler
// for that signal; to any other it could be the end. What a process says of its
// own port is believed only of ports that it listens at itself, and only from
// its standard error or, where node publishes it there, over HTTP from such a
// port.
//
// # Order and concurrency
//
// [Ports] and [Session] are safe for concurrent use. Those who want the same
// process share its port: it is opened once, and closed when the last of them
// leaves, unless it was open before or somebody wants it to stay. A process that
// opens its port only after everybody has lost patience has it closed then. The
// goroutines of a port end with its process or with [Ports.Close], those of a
// session with [Session.Close].
//
// # Bounds
//
// A message of node's is at most 64 MiB. A heap snapshot passes through in
// pieces and is never held as a whole.
//
// # What it never does
//
// It stops nobody in a debugger, and runs nothing in a process but what closes
// the port: at once, or when the process ends.
package inspector
