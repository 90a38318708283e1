// Package dscode connects to the extension hosts of DSCode over two unix sockets. [New]
// returns their [codec.Protocol], which speaks the wire of package codec/dscode.
//
// # Sockets
//
// The variables are named from the point of view of DSCode, which hostsup replaces. The
// host listens at DSCODE_IPC_URL; hostsup connects there, and the connection carries
// its requests and their responses. Hostsup listens at DSCODE_INCOMING_IPC_URL; the host
// makes up to [MaxConnections] concurrent connections there, and each carries requests
// of the host and the responses to them. Both are URLs of the form ipc:///path.
//
// Hostsup listens before the host starts. It tries to connect to the host's socket ten
// times, 200 ms after the first attempt, 400 ms after the second, and so on: a host has
// nine seconds to listen. From then on the host's requests are answered. Both sockets
// accept only processes of the same user, by the kernel's peer credentials, and both are
// in a folder that other users cannot enter. Stale socket files are removed first.
//
// # When a connection ends
//
// If the connection to the host ends while the host lives, hostsup connects again by the
// same rule, and the calls continue. Requests that had been written to the old connection
// and have no response fail with an error named [NameConnectionLost]; frames that had not
// been written completely are sent over the new connection, so that no request runs
// twice. Calls wait until the new connection exists. It counts only after it has lasted
// for 250 ms, because a host that is being killed may still accept one. If the host
// cannot be reached, or the process that listened has ended, the stream ends.
//
// If a connection of the host ends, the requests that came over it are canceled and the
// responses to them are dropped; the stream continues. A frame that is cut off by the end
// of its connection is dropped with it. A malformed frame, on any connection, is an error
// of the whole stream.
//
// # Bounds
//
// All connections feed one queue of 1 MiB and wait while it is full. Frames over 1 MiB
// from connections of the host are read one at a time. A host that makes requests and
// leaves 4 MiB of responses unread loses that connection; hostsup's own requests wait at
// the same limit, and everything that is written after them waits too.
package dscode
