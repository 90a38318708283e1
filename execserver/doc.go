// Package execserver is the client of an exec server: it runs commands, reads
// and writes files and makes HTTP requests where the server runs.
//
// A [Client] is made for an [Endpoint] (a WebSocket, a Unix socket, a command
// that is started and speaks over its standard streams, any stream of bytes)
// and connects when something is first asked of it. [Client.Start] makes a
// [Process], whose events a [Subscription] reads; [Client.FS] has the files and
// [Client.HTTP] the requests. The types of params and results are those of
// package wire.
//
// # What it promises about order
//
// The events of one process are published in the order of their numbers, each
// once and without gaps, whatever order they arrive in; up to 256 that come too
// early are kept. What is missing for a second, or over that bound, is read
// from the server. Between processes there is no order. Requests of one
// goroutine are sent in the order in which they are made; their answers are
// matched by id.
//
// What a subscriber misses is told: events that are gone show as a
// [LaggedError] in their place, and a process whose events cannot be had any
// more fails with [ErrEventsLost]. Nothing is left out in silence.
//
// # When a connection ends
//
// Everything that waits for an answer fails, once, with the one reason that
// the connection ended for ([ErrDisconnected]); so do bodies of HTTP answers,
// open files and watches. Nothing is sent again: whether the server did it is
// not known. (Input may be written again under its id, see Process.Stdin.)
//
// Processes live on: the session is resumed, by attempts every 100 ms for 45 s
// (which begin anew when one got on with the reading before it was cut),
// what every process has said in the meantime is read, and subscribers notice
// nothing. New calls wait for that. When it fails, the processes fail with
// [ErrSessionLost], and the next call makes one attempt at a new session. A
// server that was started by the client cannot be resumed: it ends with its
// connection.
//
// # Concurrency
//
// Everything is safe for concurrent use, but a Subscription and a Body have one
// reader at a time. A connection has two goroutines; a process has none.
// Subscribers with [Stall], and bodies, hold the reading back when they are
// slow, but not while a request of this client waits for its answer: whoever
// reads may make requests.
//
// # What it never does
//
// It never repeats a request, never drops an event unseen, never keeps more
// than is said here of what the server sends, and leaves no process and no
// goroutine behind after [Client.Close].
package execserver
