// Package blame finds the extension that makes a host of many extensions crash, and
// isolates it.
//
// # The rules
//
// A [Machine] manages one host, its home, and the cells beside it. Each crash has
// suspects: extensions that were being activated, that had a call in flight, that had
// an uncaught error right before, or that used the processor when the host hung.
// Without such evidence all extensions whose activation had begun are suspects.
//
// One crash isolates no extension. If one extension is a suspect in two crashes of a
// window, more often than any other, it gets a cell of its own (quarantine) with a
// budget of its own, and the crash window of the home is reset. If several are, they
// are separated: each half gets a cell of its own (trial), away from the home, so
// that the other extensions do not restart. The half that crashes is halved again.
// Trials have a budget, [Rules].MaxLives; when it is spent, the remaining suspects
// share one cell. An extension that crashes only together with others does not crash
// alone: after [Rules].Quiet the first suspect stays isolated and the others go home;
// if that was wrong, the next crash shows it.
//
// A crash before any activation, for lack of memory, or caused by the host itself or
// by another process is no extension's fault.
//
// A suspect that was isolated on evidence and never crashed there goes home once if
// a culprit is found that explains the same crashes.
//
// # Purity
//
// [Machine.Step] is a function of the state, the event and the time: no clock, no
// goroutine, no I/O; the same events give the same effects and the same texts. A
// Machine is not safe for concurrent use. Events of a life that is not the current
// one of its cell are ignored.
//
// # Duties of the caller
//
// The caller maps cells to hosts (package location accepts them unchanged), carries
// out effects in their order and reports events. A [Move] from a host that is up
// needs that host to end, unless the extension never began there; moves out of a
// crashed host and into a running one need no restart.
//
// # What it never does
//
// It does not restart, kill or measure anything, and it never isolates an extension
// without a [Decision] with the reason.
package blame
