// Package denial says what a confined process was refused, in words of the
// policy that refused it, and what the smallest policy is under which a run
// would not have been refused anything.
//
// Reports come from four sources. The kernel's Landlock and system call
// records ([Audit]) are exact, and need root and an audit subsystem that is
// switched on. The observer ([Observer]) is told of calls by a system call
// filter and needs no rights; what it reads of them is in the hands of the
// process that makes them, which can change it right after. So its reports are
// hints for a person and are never used to decide anything. The network
// proxy's log and the cgroup's events are exact.
//
// # Order and concurrency
//
// A [Log] is safe for concurrent use. It keeps a bounded number of different
// denials and counts repetitions; what finds no place is counted, never
// waited for. An Audit and an Observer have one goroutine each, which ends with
// Close. The parsers and [Suggest] are pure functions.
//
// # What it never does
//
// It never lets a call pass that it was not told to watch only, never holds up
// the process it watches for longer than reading one call takes, and never
// switches the kernel's audit subsystem on by itself.
package denial
