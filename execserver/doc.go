// Package execserver is the client of an exec server: it runs commands, reads
// and writes files and makes HTTP requests where the server runs.
//
// It is used as the standard library is used here: [Client.Command] is
// exec.CommandContext, [Client.FS] is package os with a context, [FS.Dir] is
// os.DirFS, and [Client.RoundTripper] is a transport for an http.Client.
//
// A [Client] is made for an [Endpoint] (a WebSocket, a Unix socket, a [Program]
// that is started and speaks over its standard streams, any stream of bytes)
// and connects when something is first asked of it. Below [Cmd], [Client.Start]
// makes a [Process], whose events a [Subscription] reads, and [Client.Call] makes
// any request; its params and results are the types of package wire.
//
// # What it promises about order
//
// The events of one process are published in the order of their numbers, each
// once and without gaps, in whatever order they arrive; up to 256 that arrive early
// are kept. An event that is missing for a second, or that exceeded this bound, is
// read from the server. Events of different processes have no order. Requests of one
// goroutine are sent in the order in which they are made; their answers are
// matched by id.
//
// A subscriber learns what it misses: a [LaggedError] takes the place of events
// that are gone, and a process whose events are no longer retained fails with
// [ErrEventsLost]. No event is left out silently.
//
// # When a connection ends
//
// Every call that waits for an answer fails, once, with the reason for which the
// connection ended ([ErrDisconnected]); so do bodies of HTTP answers, watches, and
// files that are open for writing. Requests are not sent again, because the server
// may have carried them out, except for those that may be repeated: input under its
// id (Process.Stdin), reading a file, and FS.WriteFile, which writes the whole file
// again.
//
// Processes go on: the client attempts to resume the session every 100 ms for 45 s
// (which start anew when an attempt made progress before it was cut), and reads the
// output that every process has written meanwhile, so that subscribers notice
// nothing. New calls wait for that. Files that are open for reading go on too, see
// FS.Open. When resuming fails, the processes fail with [ErrSessionLost], and the
// next call makes one attempt at a new session. A server that was started by the
// client cannot be resumed: it ends with its connection.
//
// # Concurrency
//
// Everything is safe for concurrent use, except that a Subscription, a Cmd, a pipe
// of a Cmd and the body of an HTTP answer must have one reader at a time. A
// connection has two goroutines; a process has no goroutine; a Cmd has one for each
// of Stdin, the output and its context.
//
// A reader that is slow, or does not read at all, delays no other process and no
// request: what it has not read goes to a temporary file, up to Options.Spill.
// Beyond that bound this reader alone loses output, and gets a [LaggedError]. A
// reader whose process has the connection to itself slows that process down
// instead, and loses nothing.
//
// # What it never does
//
// It never repeats a request except for those named above, never drops an event
// silently, never keeps more of what the server sends than is said here, and leaves
// no process and no goroutine behind after [Client.Close], except for a goroutine
// that is in a Read of Cmd.Stdin or a Write of Cmd.Stdout.
package execserver
