// Package helper is the part of this program that runs as a helper of package sandbox:
// the keeper of a Launcher's cgroups, and the init or the reaper of one command. It also
// holds the messages between a Launcher and a helper, and writes a [Plan] down as the
// scripts of a [sys.Nurse], which makes the namespaces and mounts of a confined command
// and reports like a helper.
//
// A helper is this same program, recognised in an init function by its name in argv[0],
// a variable in the environment and a socket on descriptor 3; the function never
// returns. So that a helper starts fast and stays small, the function runs before almost
// everything else is initialised: the runtime initialises packages in the order of their
// paths as soon as their imports are. Therefore this package must import only package
// sys and what sys needs, and neither may import package net or another package that
// comes late; a test counts them.
//
// # Order and concurrency
//
// A helper works on the main thread, because many attributes belong to a thread. The
// order of the steps of a [Plan] is: mounts before Landlock, which forbids them;
// user and capabilities before the system call filter; limits last.
//
// Once its command runs, an init or a reaper rests ([sys.Rest]): it waits without the Go
// runtime and without its memory. A reaper that must kill replaces itself by a new run
// of this program, which hunts.
//
// # What it never does
//
// It accepts orders only from its descriptor 3, and never reaches the main function of
// the program.
package helper
