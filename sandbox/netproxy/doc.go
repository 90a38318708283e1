// Package netproxy lets a process in a network namespace of its own reach a
// list of host:port entries, and nothing else: a proxy that runs outside the
// namespace and serves listeners inside it.
//
// One listener takes HTTP CONNECT, HTTP requests in absolute form, and SOCKS5
// (CONNECT only), told apart by the first byte. [Proxy.Forward] serves a
// listener whose every connection goes to one entry, for programs that know no
// proxy; [allow.Rules.Forwards] lists which listeners that takes.
//
// [Proxy.Connect] is for the program that has the Proxy: what it connects to on
// behalf of somebody confined obeys the same list.
//
// # What is checked
//
// The host and port that are asked for must match an entry. Names are
// resolved by the proxy. An address that a name resolves to must be a public
// one, and none of this machine's own; another address is reached only when
// an entry is that very address ("10.0.0.5:5432", "127.0.0.1:8080",
// "localhost:8080"). The address that was checked is the one that is dialled:
// nothing is resolved twice.
//
// The proxy vouches for host and port, not for what is said there: which
// site a shared server serves on a connection is between client and server.
//
// # Order and concurrency
//
// A Proxy is safe for concurrent use. Each connection has one goroutine, and a
// second one while bytes go both ways; Close ends them all and waits for them.
// The log function is called on the connection's goroutine, once for each
// attempt, as soon as its outcome is known, and must not wait.
//
// # What it never does
//
// It never waits for a client without a deadline, keeps no more than
// [Proxy.MaxHead] bytes of a request, opens nothing to an address that it has
// not checked, offers no UDP and no listening, reads no proxy variables of its
// own environment, and never looks into a tunnel.
package netproxy
