// Package shim keeps a process, and what it says, over the end of the program that
// started it.
//
// A shim is a small process that owns the standard input, output and error output of one
// command, which is its child. The program that started it is its client, over a socket
// ([Start]). Once that has ended, even by SIGKILL, another program can take its place
// ([Open]): the command goes on meanwhile.
//
// # What is promised
//
// The command reads what was given to one [Conn.Send] as a whole or not at all, and in
// order. Output is numbered. The shim keeps what a client has not acknowledged
// ([Stream.Ack]), and the next client begins with it: no byte is lost, doubled or
// reordered. A client that acknowledges only at the end of a message makes the next one
// begin with a message.
//
// A shim holds 128 KiB of its command's unacknowledged output, and 32 KiB of error output;
// then it reads no further, so that the command waits. A client that needs more for a
// single message gets it, up to Options.Most. The same goes for a single message to the
// command.
//
// The end of the command is kept, with its output, until a client calls [Conn.Release].
// Processes that the command leaves behind become children of the shim, which reaps
// them. A shim whose client has ended kills all of them and ends, unless the command
// was started with Options.Survive. It does so as well within seconds if its folder is removed, because
// no client would find it. A SIGKILL of the shim itself ends the command, but not
// its descendants. The command can begin in a cgroup that the shim is not in (Options.Cgroup), by which its client
// reaches these.
//
// # How a shim is found
//
// Each has a folder of its own that only its user may enter. In it are the socket, a file
// that the shim has locked as long as it or a successor runs that kills its processes,
// and a [Record]. Open connects only if the file is locked and the process that listens at
// the socket has the number and the time of start in the record. There is one client at a
// time; others get [ErrBusy].
//
// # Memory
//
// After the start of its command a shim is a loop of system calls without the Go runtime
// and its memory (Relay of package internal/sys), which takes less than 300 KiB while all
// messages fit into what it holds.
// In a program with a C library (cgo) the Go runtime stays in memory, with some MiB, and the
// end of a process may be noticed a tenth of a second late.
//
// # Order and concurrency
//
// The methods of a [Conn] and a [Stream] are safe for concurrent use, but for Read, which
// one goroutine at a time may call. A Conn has a goroutine that reads from the shim until
// the connection ends; one that was returned by Start has another that reaps the shim.
//
// # What it never does
//
// It never starts a second command, connects to a process that another one has replaced,
// or removes a folder whose file is locked. It exists on Linux only; on processors other than
// amd64 and arm64 Start fails.
package shim
