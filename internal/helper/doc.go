// Package helper is what this program is when it runs as a helper of package
// sandbox: the keeper of a Launcher's cgroups, and the init or the reaper of one
// command. It also holds the messages that the two exchange, and writes a [Plan]
// down as the scripts of a [sys.Nurse], which makes the namespaces and mounts of a
// confined command and speaks as a helper does.
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
// thread belongs. The order of the steps of a [Plan] is: mounts before Landlock,
// which forbids them; user and capabilities before the system call filter;
// limits last.
//
// Once its command runs, an init or a reaper rests ([sys.Rest]): it waits without
// the Go runtime and without its memory. A reaper that is to kill runs this
// program again in its place, as one that hunts.
//
// # What it never does
//
// It never takes anything but its descriptor 3 as an order, and never gets as
// far as the program's own code.
package helper
