// Package sys is the one door to the kernel: it makes every raw system call of this
// module, and hides every difference between operating systems.
//
// It covers: starting a process with a session, a cgroup or namespaces of
// its own; pidfds and waiting on them; watching many descriptors with one
// goroutine; cgroup v2 folders; prctl; socket pairs, passed descriptors and
// peer credentials; pipes of a chosen size; figures from /proc; names of
// signals; processes that rest or relay without the Go runtime.
//
// # Order and concurrency
//
// Every function is a thin, stateless wrapper, and safe for concurrent use as far as
// its descriptors are. Functions named after the calling thread (SetParentDeath,
// DropCapabilities) must be called on a goroutine that is locked to its thread. No
// function waits longer than the system call it is named after, and only a [Watch]
// starts a goroutine: one for all watches, which ends with the last.
//
// # What it never does
//
// It never stops the Go runtime: a call that may block is never made as a raw one,
// except vfork, whose child does not wait for this process. It never waits for "any
// child", never changes an attribute of the whole process unless the function's name
// says so, and never makes a descriptor that a program started later would inherit:
// all are close-on-exec from the start (where the system cannot do that atomically,
// under syscall.ForkLock).
//
// Functions that the system does not support return an error that is [ErrUnsupported].
package sys
