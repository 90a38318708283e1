// Package survive has hosts outlive a SIGKILL, or a crash, of their supervisor. The next
// supervisor with the same state folder takes them back: the same process goes on, without
// another handshake.
//
// A host has the feature [Rule], and its tree a [Part] and a state folder. The process of such a host is
// a child of a small process (package internal/shim), which holds its standard streams and lives on
// when the supervisor is killed. What has to be known of a life is in files of the state folder:
//
//	survive/HOST/past.json    the number of the last life, the crashes that count, the back-off
//	survive/HOST/LIFE.json    a life: its configuration, as a checksum, its cgroups, and what the handshake agreed on
//	survive/HOST/LIFE/        the folder of its shim
//
// # What is promised
//
// A life is taken back if the configuration of the process is the same and the shim is the one that was
// started for it: its folder is locked, and the kernel says that the process that listens there has
// the number and the time of start in the record. Otherwise the process that is left is ended
// before the next life begins, so that a host never has two. The process of a host that is not in
// the configuration any more is ended as well.
//
// The process of a life is in cgroups of its own, where the machine gives some, with the limits of the host. They are not those
// of the launcher, whose keeper ends with the supervisor and leaves them alone. The next supervisor
// finds them by the file of the life, kills and limits the tree by them, and removes them after the life.
//
// What the host sends meanwhile is kept up to the bounds of the shim, then the host waits. The dead
// supervisor may have worked on the last messages before it acknowledged them, so that a
// notification can come twice. Answers to its requests are dropped. Its answers to requests of the host are lost:
// a host that waits for one waits until its own time-out.
//
// A supervisor that is stopped ends its hosts, those that survive as well.
//
// # Order and concurrency
//
// Rule is a value, and Part as well. What is taken back is decided before the host's first life
// begins.
//
// # What it never does
//
// It never adopts a process by its number alone, or one that has left its cgroups. It does not confine
// processes, and exists on Linux only.
package survive
