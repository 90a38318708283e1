// Package everyday reads the list of ordinary things that people do with an
// exec server (a commit, a build, a debugger, a server on loopback) and how each
// of them is expected to end at each level of confinement.
//
// A thing is a script of a shell. Without confinement it shows what the machine
// does; confined it must show the same, with the same exit code, unless an
// [Exception] gives the reason and the [Reason] matches what the thing says.
// There are three kinds of exceptions: what the policy denies, what ours does
// otherwise than it should, and what the program whose protocol it is does
// otherwise than ours.
//
// The package plays nothing: integration's TestEveryday does.
package everyday
