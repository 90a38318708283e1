// Package selftest tries to get out of the sandbox, on this machine, as the
// user it runs as, and says what held.
//
// Each attempt is a small piece of code that runs inside a confined process:
// this very program once more, recognised in an init function of this package
// by its argv[0] and a variable in its environment. What came of it is judged
// from outside wherever that can be: is the file as it was, did our listener
// hear anything, is the other process still alive, who still holds the pipe
// after the end. Where only the process itself can know, for example whether a
// system call was let through, the row says so ([Row.Witness]).
//
// # Controls
//
// Each attempt also runs without a sandbox. One that does not succeed there
// either proves nothing and is [Vacuous], never [Held]. One whose process did
// not come as far as trying is [Broken]. A second list, [Report.Work], holds
// what a confined process must be able to do: a sandbox that blocks everything
// would pass the attempts and fail these.
//
// # What is promised
//
// The attempts are safe to run on a machine in use: files, processes, sockets
// and cgroups that are attacked were made for the purpose by [Run] and are
// removed by it, servers listen on loopback only, system settings are written
// with the value that they have, and what is used up is bounded. No other
// process is looked into or signalled. While [Run] works, the environment of
// the calling process has one more variable, whose leaking is an attempt.
//
// Run may be called once at a time per process. It starts processes from
// several goroutines and ends all of them before it returns, also when its
// context is cancelled.
package selftest
