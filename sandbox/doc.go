// Package sandbox starts processes and reliably ends their process trees, even after
// the program that started them was itself killed with SIGKILL.
//
// A [Launcher] serves a whole supervisor. [Launcher.Start] returns a [Child]: a
// process that leads a session and process group of its own, has exactly the given
// descriptors and environment, and belongs to a tree that [Child.KillTree] ends. A
// Policy confines it, and Limits bound what it consumes; without either it costs
// nothing more.
//
// # Confinement
//
// A level names which parts of a policy are enforced. [Probe] tests once what this
// machine supports. Start uses the strongest level, reports it with what is missing in
// [Child.Confinement], and fails if it is weaker than the policy accepts. A program
// that starts one command and ends may keep successful tests for a boot with
// [RememberProbe].
//
//   - full and no-cgroup: user, pid, mount, network, ipc, uts and cgroup
//     namespaces; an empty root with the granted paths, read-only unless granted
//     for writing, without set-user-id, devices or (unless granted for running)
//     execution; a /proc of its own processes; Landlock in addition; a system call
//     filter; no capabilities and no way to gain them. At full the limits are
//     cgroups, v1 or v2; at no-cgroup they are limits of processes, and memory is
//     sampled.
//   - landlock: Landlock, the filter and limits only.
//
// As root, every confined process has its own user id from Options.Users, in a user
// namespace without other users. Mapped mounts keep the owners of files that it may
// write. Its init runs as an unknown user. No confined process runs as root. A
// placeholder, an empty folder that the process may not open, reserves the name of a
// denied path that does not exist; it is removed with the life, or by a helper after a
// SIGKILL of the supervisor.
//
// At level landlock, and with Limits alone, the command starts directly: a child that
// shares our memory until its execve runs a script of system calls.
//
// # Kill methods
//
// The Launcher uses the strongest method that works on this machine;
// [Launcher.Missing] says why stronger ones do not.
//
//   - [KillCgroup]: every life starts in its own v2 cgroup, and one small keeper
//     process of the Launcher has the other end of a socket. When the supervisor
//     has ended for any reason, the keeper kills the cgroups and removes them. A
//     child can only escape by moving to another cgroup, which needs root.
//   - [KillPidns]: every life has a pid namespace with a small init of ours. The
//     kernel kills the namespace when the init ends, and the init ends with the
//     supervisor. The child has its own process numbers, and a matching /proc where
//     mounting one is allowed. For an ordinary user this takes a user namespace, in
//     which files of other users belong to the overflow user and set-user-id programs
//     run as their caller.
//   - [KillKeeper]: every life has a keeper process that inherits its orphans and
//     kills all of them on request, or when the supervisor has ended. A child that
//     kills its keeper, which it may if it runs as the same user, puts its orphans
//     out of reach.
//   - [KillGroup]: the process group only. Processes that call setsid escape; after
//     a SIGKILL of the supervisor only the processes that it started itself die,
//     and on Linux only.
//
// [Child.Gone] is closed when the tree is gone, as far as the method can tell. NOTE:
// cgroup.kill signals the first thread of each process; a process whose first thread
// has ended while others run is signalled by its pidfd.
//
// # The keeper
//
// The init of a confined or limited command is a copy of this process that drops its
// memory and descriptors and executes a prepared list of system calls (type Nurse of
// package internal/sys). It never runs the Go runtime, or any code of the program.
// The keeper, and the init of other commands, run this program again:
// /proc/self/exe, recognised in an init function of package internal/helper by the
// name hostsup-keeper in argv[0], a variable in the environment and a socket on
// descriptor 3. No call in main is needed, and test binaries work too. It never
// returns to the program's own code; the few packages that are initialised
// before that one do run in it.
//
// # Order and concurrency
//
// Everything is safe for concurrent use. One goroutine locked to its thread spawns
// all processes one after the other, because a parent-death signal follows the
// thread; therefore a Start can wait for the execve of another. Done is closed after
// Exit is set. With pidfds, a child has no goroutine while it runs: one goroutine of
// the program waits for all of them, in the network poller and not on a thread. From
// its end to its Release a child has a goroutine of its own; Close waits for these.
// A process that does not end within ten seconds of SIGKILL is given up and reported
// by a [StuckError].
//
// # What it never does
//
// It never waits for a process that it did not start, never waits for "any child",
// sends no signal to a process number that may have been reused (in the portable
// backend, which has no pidfds: as far as that can be known), and changes no
// attribute of the embedding process: no subreaper, no signal dispositions, no
// limits, no descriptor flags.
package sandbox
