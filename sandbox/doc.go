// Package sandbox starts processes and ends them for good: each with
// everything it started, also when the program that started them was itself
// killed with SIGKILL.
//
// A [Launcher] serves a whole supervisor. [Launcher.Start] makes a [Child]: a
// process that leads a session and process group of its own, has exactly the
// descriptors and the environment it was given, and belongs to a tree that
// [Child.KillTree] ends. With a Policy it is confined, with Limits what it uses
// up is bounded; without either it costs nothing more.
//
// # Confinement
//
// What of a policy is enforced is named by a level, never by silence. [Probe]
// tries once what this machine gives; a Start takes the strongest level, tells
// it in [Child.Confinement] with what is missing, and fails where that is
// weaker than the policy accepts. A program that starts one command and ends
// may have the successes of that remembered for a boot: [RememberProbe].
//
//   - full and no-cgroup: user, pid, mount, network, ipc, uts and cgroup
//     namespaces; an empty root made of what is granted, read-only where it is
//     not granted for writing, without set-user-id, devices or (where not
//     granted for running) execution; a /proc of its own processes; Landlock
//     once more on top; a system call filter; no capabilities, no way to new
//     ones. At full the limits are cgroups, v1 or v2; at no-cgroup they are
//     limits of processes, and memory is sampled.
//   - landlock: Landlock, the filter and limits alone.
//
// As root every confined process has a user id of its own from Options.Users,
// in a user namespace that knows no other, and files that it may write keep
// their owners by mapped mounts. Its init belongs to nobody. Nothing that is
// confined runs as root. A denied path that does not exist is held by an empty
// file or folder that nobody may open, which goes with the life; after a
// SIGKILL of the supervisor it can be left.
//
// At level landlock, and with Limits alone, the command starts directly, by a
// script of system calls in a child that shares our memory until its execve.
//
// # Ways of killing
//
// The Launcher takes the strongest way that works here, and says in
// [Launcher.Missing] why a stronger one does not.
//
//   - [KillCgroup]: every life is born in a v2 cgroup of its own, and one small
//     keeper process for the Launcher holds the other end of a socket. When
//     the supervisor is gone, however it ended, the keeper kills the cgroups
//     and removes them. Nothing that a child can do short of moving itself to
//     another cgroup, which needs root, gets it out.
//   - [KillPidns]: every life has a pid namespace with a small init of ours;
//     the kernel kills what is in it when the init ends, and the init ends with
//     the supervisor. The child sees process numbers of its own, and a /proc
//     that shows them where mounting one is allowed. For an ordinary user this
//     takes a user namespace, in which other users' files appear as nobody's
//     and set-user-id programs stay what their caller is.
//   - [KillKeeper]: every life has a keeper process that inherits its orphans
//     and hunts all of them when asked, or when the supervisor is gone. A child
//     that first kills its keeper, which it may when it runs as the same
//     user, takes its orphans out of reach.
//   - [KillGroup]: the process group only. What calls setsid escapes; when the
//     supervisor is killed, only the processes it started itself die, and that
//     on Linux alone.
//
// [Child.Gone] tells when the tree is gone, as far as the way can tell. NOTE:
// cgroup.kill signals the first thread of each process; one whose first thread
// has ended while others run is signalled by its pidfd.
//
// # The keeper
//
// The init of a confined or limited command is a copy of this process that lets
// go of its memory and descriptors and makes a list of system calls that was
// written before (type Nurse of package internal/sys). It never runs the Go
// runtime, or any code of the program. The keeper, and the init of a command
// that is neither, are this very program once more: /proc/self/exe, recognised in an init function of package internal/helper by the name
// hostsup-keeper in argv[0], a variable in the environment and a socket on
// descriptor 3. No call in main is needed, and test binaries work too. It never
// returns to the program's own code; the few packages that are initialised
// before that one do run in it.
//
// # Order and concurrency
//
// Everything is safe for concurrent use. All processes are spawned one after
// the other by one goroutine locked to its thread, because a parent-death
// signal follows the thread; a Start can therefore wait for another one's
// execve. Done is closed after Exit is set. Where there are pidfds, a child has
// no goroutine while it runs: one that serves this whole program waits for the
// ends of all, in the network poller and not on a thread. From its end to its
// Release a child has one of its own; Close waits for these. What does not end
// within ten seconds of its SIGKILL is given up, and named by a [StuckError].
//
// # What it never does
//
// It never waits for a process that it did not start, never uses wait for "any
// child", sends no signal to a number that could have passed to somebody
// else's process (in the portable backend, where there is no pidfd: as far as
// that can be known), and changes no attribute of the embedding process:
// no subreaper, no signal dispositions, no limits, no descriptor flags.
package sandbox
