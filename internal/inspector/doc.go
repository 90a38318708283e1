// Package inspector speaks with the inspector of node processes: it makes a running
// process open its port, takes CPU profiles and heap snapshots over the Chrome DevTools
// Protocol, and closes the port again.
//
// # Processes it touches
//
// A process is sent SIGUSR1 only if its program is node and it has a handler for that
// signal; the signal could kill any other process. A port that a process announces is
// accepted only if the process itself listens at it, and only from its standard error
// or, where node publishes it there, over HTTP from such a port.
//
// # Order and concurrency
//
// [Ports] and [Session] are safe for concurrent use. Users of the same process share
// its port: it is opened once, and closed when the last of them releases it, unless it
// was open before or a user called [Lease.Keep]. If a process opens its port only after
// all users have given up, the port is closed then. The goroutines of a port end with
// its process or with [Ports.Close], those of a session with [Session.Close].
//
// # Bounds
//
// A message from node is at most 64 MiB. A heap snapshot passes through in pieces and
// is never held as a whole.
//
// # What it never does
//
// It never pauses a process in a debugger, and runs no code in a process except to
// close the port, at once or when the process ends, and for [Session.Note].
package inspector
