// Package control is the interface between other programs and a running supervisor:
// HTTP with JSON over a unix socket, and where that is wanted over a network. It holds both ends, the [Server] beside the
// supervisor and the [Client] that the command line uses.
//
// One table, operations in api.go, has every request: its path, who may make it, what it
// carries and what answers it. The routes are made from it, and so is openapi.json, which
// is served at /v1/openapi.json.
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
// On a network ([Server.ServeConsole]) every request needs a token, which has a [Role];
// all but the files of the page. The names in URLs and the origins of pages are checked
// before that. Connections are counted for each listener alone, so that those on the
// network do not keep the command line out.
//
// At either, headers and bodies that arrive too slowly and readers that do not read are
// cut off, and the log says so ([Options].Patience and StreamPatience). Programs that
// attach have the rules of package attach.
//
// # Wire format
//
// Every path starts with /v1. A request is answered with one JSON document once it
// is done; histories that can be followed, and streamed results, are answered with
// one document a line. A complete stream ends with a line with an "end" or an
// "error"; without it the stream was cut off, and the client reports that. To a caller
// that accepts text/event-stream a stream is sent as server-sent events. Those of the
// history have their numbers as ids, so that a client that was cut off goes on after
// the last that it has.
//
// A program that attaches to a host asks, by "Upgrade: hostsup-attach", that the connection
// becomes its own. After the answer 101 it sends its messages as they are, and ends its half
// of the connection after the last one. The supervisor sends frames: the number of bytes that
// follow, in four bytes, the most significant first, and these. A frame of 0 bytes is the
// last; behind it comes, as JSON, the error for which the program was detached, or nothing.
// Without the upgrade the bodies of the request and of the answer carry the messages, and the
// trailer Hostsup-Error that error.
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
// It never listens by itself, never keeps state of its own, and never makes a
// decision about a host.
package control
