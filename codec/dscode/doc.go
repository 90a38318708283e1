// Package dscode is the protocol between DSCode and its extension host: JSON
// messages over a unix socket for each direction. It follows the crate
// dscode-extension-host 0.1.0, whose module for it is the only description
// there is; where that leaves something open, what is done here is said below.
//
// # The wire
//
// A frame is a u32 big-endian length, from 1 to 50 MiB, and a JSON object of
// that many bytes:
//
//	{"id": "req_7", "type": "workspace.open", "payload": …}
//
// A request has the id req_<n>, a one-way message msg_<n>. A reply has the id
// of its request and the type "<type>-response", or "<type>-error" with the
// payload {"error": "text"}. Other keys are ignored, a missing payload is null.
// There is no handshake, no cancelling, no question whether somebody is there,
// and no farewell: the sockets are closed, and a signal follows.
//
// # Who listens where
//
// The names are seen from DSCode, whose place we take. The host listens at
// DSCODE_IPC_URL; we connect there, and it carries our requests and their
// replies. We listen at DSCODE_INCOMING_IPC_URL; the host makes any number of
// connections there, up to [MaxConnections] at a time, and each carries requests
// of its own and our replies to them. Both are URLs of the form ipc:///path.
//
// Ours is there before the host starts. The host's is looked for with ten
// attempts, 200 ms after the first, 400 ms after the second, and so on: a host
// has nine seconds to listen. Requests of its own are answered from then on. Of
// both sockets only processes of the same user are accepted, as the kernel
// says, and both lie in a folder that nobody else can enter. Stale socket files
// are removed first.
//
// # One stream
//
// A life has one [codec.Stream] for all its sockets. Each frame has a label in
// front that says which connection it belongs to, in both directions (see
// envelope.go), so that the session, which knows from where a request came,
// sends the answer back there. Labels never leave the process.
//
// # When a socket ends
//
// The connection to the host, while the host lives: it is made again by the same
// rule, and the calls go on. Requests that had been written to the old one and
// have no answer get an error of the name [NameConnectionLost]; frames that
// had not been written whole go out on the new one, so that nothing is done
// twice. Until it is there, calls wait. A new connection counts once it has lasted
// for 250 ms: a host that is being killed may take one still. When the host cannot
// be reached, or the process that listened is gone, the stream ends.
//
// A connection of the host: requests that came over it are taken back, and
// answers to them go nowhere. The stream goes on. A frame that an end cuts in
// two is dropped with its connection. What is no frame at all, though, on any
// connection, is an error of the whole stream.
//
// # Order and concurrency
//
// Frames of one connection stay in order; those of different ones have none.
// Requests of one connection do not wait for each other's answers. A session's
// Append and its Reader may run on different goroutines.
//
// # Bounds
//
// All connections feed one queue of 1 MiB, and wait when it is full. Frames
// over 1 MiB of the host's connections are gathered one at a time. A host that
// asks and lets 4 MiB of answers lie loses that connection; our own requests
// wait at the same mark, and what is written behind them waits with them.
// [MaxOpen] requests of a host may be open.
//
// # What differs from the original
//
// Requests of one connection are served side by side. A message that cannot be
// written leaves nothing behind. Answers to one-way messages, which the
// original gives and ignores, are not given, and ignored. An id on the
// connection for replies that was never ours is an error, and not passed over.
package dscode
