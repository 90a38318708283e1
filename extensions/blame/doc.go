// Package blame finds out whose fault it is when a host of many extensions
// keeps dying, and moves that one out of the way.
//
// # The rules
//
// A [Machine] looks after one host, its home, and the cells beside it. Every
// crash is tied to suspects: who was being activated, who had a call in flight,
// whose uncaught error came right before, who had the processor when the host
// hung. Without any of these everybody whose activation had begun is one.
//
// One crash isolates nobody. When one extension is a suspect in two crashes of
// a window, and no other as often, it gets a cell of its own (quarantine), under
// a budget of its own, and the crashes are taken off the home's account. When
// several are, they are tried apart: each half in a cell of its own (trial),
// away from the home, so that those who are not under suspicion do not restart.
// The half that crashes is halved again. Trials have a budget, [Rules].MaxLives;
// when it is spent, who is left goes into one cell together. An extension that
// crashes only beside others falls silent when it is alone: after [Rules].Quiet
// it stays where it is, the others go home, and if that was wrong the next crash
// shows it.
//
// A crash before any activation, one for lack of memory, and one that the host
// itself or somebody outside has caused are nobody's fault.
//
// A suspect that was put apart for evidence, never crashed there, and turns out
// to have been there only by chance is let home again, once.
//
// # Purity
//
// [Machine.Step] is a function of what the machine was, the event and the time:
// no clock, no goroutine, no I/O; the same events give the same effects and the
// same words. It is not safe for concurrent use. Events of a life that is not
// the current one of its cell are ignored.
//
// # Who carries it out
//
// The caller maps cells to hosts (package location takes them as they are),
// carries effects out in their order and feeds back what happens. A [Move] from
// a host that is up needs that host to end unless the extension never began
// there; moves out of a crashed one and into a running one cost nobody a restart.
//
// # What it never does
//
// It does not restart, kill or measure anything, and it never puts anybody
// apart without a [Decision] that says why.
package blame
