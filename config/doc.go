// Package config converts a configuration file in HCL into a [supervisor.Spec] and
// the few settings of the binary around it.
//
// # What it promises
//
// Nothing is accepted and then not enforced. An unknown name is a diagnostic with
// the nearest known one; a name that is planned but not built is a diagnostic `not
// in this version`; so is a setting without effect (a call timeout of a host that is
// never called).
//
// As many mistakes as possible are reported at once, in the order of the file, each
// with its position, the expected value and, if one is near, what was probably
// meant. Mistakes that follow from another one are not reported. A file that is not
// HCL causes only that error.
//
// Reading a file has no effects: no process is started, no folder is made. The same
// bytes, variables and environment give the same result. A condition that may
// change, such as whether a working folder exists or a program is installed, causes
// a warning and never an error: the file may be checked on another machine than the
// one it is for, and a folder may be mounted after the supervisor has started. If it
// is still missing at a start, that start fails with a recorded reason.
//
// Relative paths in a file start from the folder of the file; a program named by a
// relative path starts from the host's dir if it has one, as the system itself
// would.
//
// A file without a host or an exec server is an error: it is the wrong one, or
// incomplete. A host may depend on one that starts late (eager = false); if the
// first starts with the supervisor, so does the second, which is a warning.
//
// # What it does not do
//
// The file is trusted: its expressions can use time and memory like any program.
// Only what could end the process by mistake is bounded: the size of the file, the
// nesting of expressions, and the length of numbers.
//
// The package keeps no state; its functions may be called concurrently.
package config
