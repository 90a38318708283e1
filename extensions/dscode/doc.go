// Package dscode meets the extension hosts of DSCode at two unix sockets. [New]
// returns their [codec.Protocol], which speaks the wire of package codec/dscode.
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
// # Bounds
//
// All connections feed one queue of 1 MiB, and wait when it is full. Frames
// over 1 MiB of the host's connections are gathered one at a time. A host that
// asks and lets 4 MiB of answers lie loses that connection; our own requests
// wait at the same mark, and what is written behind them waits with them.
package dscode
