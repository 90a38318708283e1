// Package netproxy is a proxy that lets a process in its own network namespace reach
// a list of host:port entries and nothing else. It runs on the host side and serves
// listeners on the confined side.
//
// One listener accepts HTTP CONNECT, HTTP requests in absolute form, and SOCKS5
// (CONNECT only); the first byte tells them apart. [Proxy.Forward] serves a listener
// whose connections all go to one entry, for programs that do not support proxies;
// [allow.Rules.Forwards] returns the listeners that these need.
//
// [Proxy.Connect] is for the program that owns the Proxy: it connects on behalf of a
// confined process under the same list.
//
// # What is checked
//
// The requested host and port must match an entry. The proxy resolves names itself.
// An address that a name resolves to must be public and must not belong to this
// machine; other addresses need an entry with exactly that address
// ("10.0.0.5:5432", "127.0.0.1:8080", "localhost:8080"). The proxy dials the address
// that it checked and resolves no name twice.
//
// The proxy checks host and port, not the content of connections: it does not see
// which site of a shared server a client uses.
//
// # Order and concurrency
//
// A Proxy is safe for concurrent use. Each connection has one goroutine, and a
// second one while bytes go both ways; Close ends them all and waits for them.
// The log function is called on the connection's goroutine, once for each
// attempt, as soon as its outcome is known, and must not block.
//
// # What it never does
//
// It never waits for a client without a deadline, keeps no more than
// [Proxy.MaxHead] bytes of a request, dials no address that it has not checked,
// supports neither UDP nor listening, ignores the proxy variables of its own
// environment, and never inspects a tunnel.
package netproxy
