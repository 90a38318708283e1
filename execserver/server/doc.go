// Package server is the exec server: it runs commands, reads and writes files
// and makes HTTP requests for clients that speak package wire, over WebSockets,
// over its own stdin and stdout, or over a Unix socket.
//
//	Server      listens; the sessions
//	└─ session  one client, over any number of connections; its processes
//	   └─ osprocess   one OS process with its tree
//
// A [Server] is an actor: [Server.Props] has it in anybody's tree, [Start] in
// one of its own. A session outlives its connections. A connection is not an actor
// but two goroutines, one that reads and one that writes.
//
// # The way of output
//
// A stream of a process is read into pages of 64 KiB, numbered in chunks of at
// most 8 KiB, and kept by the process: the last of it for process/read and for a
// client that comes back, and everything that was not sent yet over its session's
// connection. The connection's writer takes chunks from there when it can write,
// and encodes them into the frames that it writes. There is no queue of messages in
// between: what a client does not read stays in its process, and when that is too
// much the server stops reading the output. A process without a connection goes on
// at full speed until Options.Retain is full; then it waits, or with Drop the oldest
// output is lost.
//
// # The budget
//
// Each process may keep its last MiB of output, whatever others do. Memory beyond
// that, up to Options.Retain a process, comes out of Options.Budget, which all
// sessions share: up to half of it for output that may go when room is wanted
// (it was sent, or Drop is in force), all of it for output that must stay. When
// it is used up, what may go is kept to the MiB, and a process whose output must
// stay waits until its client is back, or until another process gives memory back.
//
// # Promises about order and concurrency
//
//   - Notifications of one process are written in the order of their seq, after
//     the answer to its process/start.
//   - process/exited comes after all that was written to pipes before the exit;
//     process/closed is the last.
//   - Requests of one connection run concurrently, but those about one process take
//     effect in their order, and so do requests about files if one of them changes
//     something.
//   - A client that stops reading stalls its own processes' output and nothing
//     else.
//   - Every process ends with its session, with its whole tree; also when this
//     program is killed, as far as sandbox.Launcher can ensure that.
//
// # What it never does
//
// It never runs a command less confined than was asked for, listens beyond
// this machine without authentication unless forced, or keeps more than its
// limits for a client.
package server
