// Package transport is how the bytes of one life of a host travel: the descriptors that
// its process inherits, our ends of them, and the connection, which is there at once (a
// socket, pipes) or comes later (the host connects to a socket of ours, or is met as its
// protocol has it). It starts no process and reads no message. A new way to come together
// with a host is a hostspec.Transport, if every protocol can use it, or else a codec.Rendezvous of
// its protocol.
package transport
