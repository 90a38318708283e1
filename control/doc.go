// Package control is how other programs talk to a running supervisor: HTTP
// with JSON over a unix socket. It has both ends, the [Server] beside the
// supervisor and the [Client] that the command line uses.
//
// # Who may talk
//
// Whoever may open the socket controls every host. The socket has mode 0600
// from the moment it exists, its folder is made with 0700 when missing, and
// where the kernel tells who is at the other end, both ends ask it: the server
// turns away everybody but root and its own user, the client does not speak to
// a socket of somebody else. [Listen] holds a lock beside the socket, so one
// socket has one owner; what a dead owner left behind is replaced.
//
// # What travels
//
// Every path starts with /v1. A request that changes or asks something is
// answered with one JSON document once it is done; histories that can be
// followed and results that are streamed are answered with one document a
// line. A stream that ends by itself is ended by a line with an "end" or an
// "error"; one that stops without it was cut off, and the client says so.
//
// What went wrong travels as {"error": {"class": …, "message": …}} with an
// HTTP status to match. The client turns it into an [*Error], for which
// errors.Is and errors.As answer as they do for the error on the server's side.
//
// # Order and concurrency
//
// Requests are independent of each other; each lasts as long as its caller
// stays connected. When the caller goes away a call is cancelled and a verb
// stops waiting (what the verb has set going, goes on). A follower that does not
// read slows nobody down: it misses lines, and is told how many.
//
// [Server.Close] ends streams, waits for every handler and leaves no goroutine
// behind. A Client keeps at most a few idle connections until [Client.Close].
// Both are safe for concurrent use.
//
// # What it never does
//
// It never listens on a network, never keeps state of its own, and never
// decides anything about a host.
package control
