// Package denial reports what a confined process was refused, in terms of its
// policy, and computes the smallest policy under which a run would have been
// refused nothing.
//
// Reports come from four sources. The kernel's Landlock and system call records
// ([Audit]) are exact; they need root and an enabled audit subsystem. The observer
// ([Observer]) gets calls from a system call filter and needs no privileges; but the
// calling process can change the arguments in its memory after they are read.
// Therefore its reports are hints for people and never decide anything. The network
// proxy's log and the cgroup's events are exact.
//
// # Order and concurrency
//
// A [Log] is safe for concurrent use. It keeps a bounded number of different
// denials and counts repetitions; it counts those beyond the bound and never
// blocks. An Audit and an Observer have one goroutine each, which Close ends. The
// parsers and [Suggest] are pure functions.
//
// # What it never does
//
// It lets pass only calls of [WatchedCalls], delays a watched process no longer than
// reading one call takes, and never enables the kernel's audit subsystem.
package denial
