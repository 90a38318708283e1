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
// watches, and files that are open to be written. Nothing is sent again, because
// it is not known whether the server did it, except for what changes nothing when
// it is done twice: input under its id (Process.Stdin), reading a file, and
// FS.WriteFile, which writes the whole file again.
//
// Processes live on: the session is resumed, by attempts every 100 ms for 45 s
// (which begin anew when one got on with the reading before it was cut),
// what every process has said in the meantime is read, and subscribers notice
// nothing. New calls wait for that. Files that are open to be read live on too,
// see FS.Open. When resuming fails, the processes fail with [ErrSessionLost], and
// the next call makes one attempt at a new session. A server that was started by
// the client cannot be resumed: it ends with its connection.
//
// # Concurrency
//
// Everything is safe for concurrent use, but a Subscription, a Cmd, a pipe of a
// Cmd and the body of an HTTP answer have one reader at a time. A connection has
// two goroutines; a process has none; a Cmd has one for each of Stdin, the output
// and its context.
//
// A reader that is slow, or does not read at all, holds up no other process and
// no request: what it has not read goes to a temporary file, up to
// Options.Spill, and over that bound output is lost to this reader alone, which
// is told by a [LaggedError]. A reader whose process has the connection to itself
// slows that process down instead, and loses nothing.
//
// # What it never does
//
// It never repeats a request but for those named above, never drops an event
// unseen, never keeps more than is said here of what the server sends, and leaves
// no process and no goroutine behind after [Client.Close], but for one that is in
// a Read of Cmd.Stdin or a Write of Cmd.Stdout.
package execserver
