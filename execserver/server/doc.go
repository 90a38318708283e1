// Package server is the exec server: it runs commands, reads and writes files
// and makes HTTP requests for clients that speak package wire, over WebSockets,
// over its own stdin and stdout, or over a Unix socket.
//
//	Server      listens; the sessions
//	└─ session  one client, over any number of connections; its processes
//	   └─ actors.Process   one OS process with its tree
//
// A [Server] is an actor: [Server.Props] has it in anybody's tree, [Start] in
// one of its own. A session outlives its connections; a connection is no actor
// but two goroutines, one that reads and one that writes.
//
// # The way of output
//
// A stream of a process is read into pages of 64 KiB, numbered in chunks of at
// most 8 KiB, and kept by the process: the last of it for process/read and for
// a client that comes back, and everything that its session's connection has not
// been sent yet. The
// connection's writer takes chunks from there when it can write, and encodes
// them straight into the frames it writes. No queue of messages lies between:
// what a client does not read stays in its process, whose output is not read
// any further when that is too much. A process without a connection goes on at
// full speed until Options.Retain is full; then it waits, or with Drop the oldest
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
//   - Notifications of one process are written in the order of their seq, and
//     none before the answer to its process/start.
//   - process/exited comes after all that was written to pipes before the exit;
//     process/closed is the last.
//   - Requests of one connection run side by side, as far as nobody can tell:
//     those about one process take effect in their order, and so do those about
//     files of which one changes something.
//   - A client that stops reading stalls its own processes' output and nothing
//     else.
//   - Every process is gone with its session, with its whole tree; also when
//     this program is killed, as far as sandbox.Launcher reaches.
//
// # What it never does
//
// It never runs a command less confined than was asked for, listens beyond
// this machine without authentication unless forced, or keeps more than its
// limits for a client.
package server
