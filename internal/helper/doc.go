// Package helper is what this program is when it runs as a helper of package
// sandbox: the keeper of a Launcher's cgroups, the init or the reaper of one
// command, and the one that makes the namespaces and mounts of a confined
// command. It holds also the words in which the two talk.
//
// A helper is this very program once more, recognised in an init function by
// its name in argv[0], a variable in the environment and a socket on
// descriptor 3; the function never returns. So that a helper starts fast and
// stays small, the function runs before almost everything else of the program
// is initialised: the runtime initialises packages by the order of their paths
// as soon as what they import is. Therefore this package imports nothing
// beyond package sys and what that needs itself, and neither imports package
// net or any other that comes late; a test counts them.
//
// # Order and concurrency
//
// A helper works on the main thread, to which everything that holds for a
// thread belongs. Its order of steps is that of a [Plan]: mounts before
// Landlock, which forbids them; user and capabilities before the system call
// filter; limits last, because the Go runtime would not survive them.
//
// # What it never does
//
// It never takes anything but its descriptor 3 as an order, and never gets as
// far as the program's own code.
package helper
