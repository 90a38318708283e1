// Package peers echoes bytes through other programs in different ways: the
// ways that hostsup is compared with, and hostsup itself.
//
// Every server is a process of its own: this same binary started again as
// "serve NAME SOCKET", or the peer's own program. A server ends at the end of
// its standard input, so that none outlives the client that started it. All
// connections are unix sockets or pipes of one machine, without encryption.
package peers
