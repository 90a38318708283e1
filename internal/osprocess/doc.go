// Package osprocess is the actor of one OS process with its tree: it starts it, signals
// it, kills it, and tells its owner, the actor that has spawned it, how it starts and
// ends. Hosts and exec servers have the same; what differs between the two is in
// [Options], and what is done with a process's output, its limits or its end is the
// owner's, not of this package. A new way of starting belongs to package sandbox.
package osprocess
