// Package sys is the one door to the kernel: every raw system call of this
// module is made here, and every difference between operating systems is
// settled here.
//
// What it holds: starting a process with a session, a cgroup or namespaces of
// its own; pidfds and waiting on them; watching many descriptors with one
// goroutine; cgroup v2 folders; prctl; socket pairs, passed descriptors and
// peer credentials; pipes of a chosen size; figures from /proc; names of
// signals.
//
// # Order and concurrency
//
// Every function is a thin, stateless wrapper and safe for concurrent use as
// far as its descriptors are. Functions named after the calling thread
// (SetParentDeath, DropCapabilities) are only meaningful on a goroutine that is
// locked to its thread. Nothing here waits longer than the system call it is
// named after, and nothing but a [Watch] starts a goroutine: one for all of
// them, which ends with the last.
//
// # What it never does
//
// It never has the Go runtime stand still: a call that may wait for something is
// never made as a raw one, but for vfork, whose child waits for nothing of ours. It
// never waits for "any child", never changes an attribute of the whole
// process unless the function's name says so, and never makes a descriptor
// that would be inherited by a program started later: all are close-on-exec
// from the moment they exist (where the system cannot do that atomically,
// under syscall.ForkLock).
//
// What a system does not have returns an error that is [ErrUnsupported].
package sys
