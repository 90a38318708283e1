// Package integration holds the tests of the whole: real processes, real
// sockets, real signals, all rooms together. It has no code of its own.
package integration
