// Package control is the interface between other programs and a running supervisor:
// HTTP with JSON over a unix socket. It holds both ends, the [Server] beside the
// supervisor and the [Client] that the command line uses.
//
// # Access
//
// A process that may open the socket controls every host. The socket has mode 0600
// from the moment it exists, and its folder, if missing, is made with 0700. Where
// the kernel reports peer credentials, both ends check them: the server refuses all
// users but root and its own, and the client does not speak to a socket of another
// user. [Listen] holds a lock beside the socket, so one socket has one owner; it
// replaces what a dead owner left behind.
//
// # Wire format
//
// Every path starts with /v1. A request is answered with one JSON document once it
// is done; histories that can be followed, and streamed results, are answered with
// one document a line. A complete stream ends with a line with an "end" or an
// "error"; without it the stream was cut off, and the client reports that.
//
// An error is sent as {"error": {"class": …, "message": …}} with a matching HTTP
// status. The client converts it into an [*Error], for which errors.Is and errors.As
// answer as they do for the error on the server's side.
//
// # Order and concurrency
//
// Requests are independent of each other; each lasts as long as its caller stays
// connected. When the caller goes away, a call is canceled and an operation stops
// waiting (but continues). A follower that does not read slows down no other: it
// misses lines, and receives their number.
//
// [Server.Close] ends streams, waits for every handler and leaves no goroutine
// behind. A Client keeps at most a few idle connections until [Client.Close]. Both
// are safe for concurrent use.
//
// # What it never does
//
// It never listens on a network, never keeps state of its own, and never makes a
// decision about a host.
package control
