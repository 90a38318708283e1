// Package config turns a configuration file in HCL into what a supervisor
// runs: a [supervisor.Spec], and the few settings of the binary around it.
//
// # What it promises
//
// Nothing is accepted and then not enforced. A name that does not exist is a
// diagnostic with the nearest one that does; a name that is planned but not
// built is a diagnostic `not in this version`; a setting that has no effect
// where it stands (a call time-out of a host that is never called) is one too.
//
// As many mistakes as can be told apart are reported at once, in the order of
// the file, each with its place, what was expected there and, where one is
// near, what was probably meant. Mistakes that follow from another one are not
// reported. A file that is not HCL at all is reported for that alone.
//
// Reading a file has no effects: no process is started, no folder is made.
// The same bytes, variables and environment give the same result. What is
// only true later, such as whether a working folder exists or a program is
// installed, is a warning and never an error: the file may be checked on
// another machine than the one it is for, and a folder may be mounted after
// the supervisor has started. When it is still missing at a start, that start
// fails with a reason on record.
//
// Paths in a file that are not absolute start from the folder of the file; a
// program named by one starts from the host's dir when there is one, as the
// system itself would have it.
//
// A file without a host or an exec server is an error: it is the wrong one, or half of one. A
// host that starts late (eager = false) may be depended on; a host that needs
// it at once takes it along, which is a warning.
//
// # What it does not do
//
// The file is trusted: its expressions can use time and memory like any
// program. Only what could end the process by a slip of the hand is bounded:
// the size of the file, how deep expressions nest, how large a number is
// written.
//
// The package keeps no state; its functions may be called concurrently.
package config
