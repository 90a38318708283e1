// Package blame finds the extension that makes a host of many extensions crash, and
// isolates it.
//
// # The rules
//
// A [Machine] manages one host, its home, and the cells beside it. Each crash leaves
// [Evidence]: the extensions whose activation had begun, and traces of some of them. Direct
// traces are of the crash itself, such as the stack that node printed (see [Trace] and
// [Profile]); weak ones are what extensions were doing then, such as a call in flight. Several
// crashes are weighed together. Presence comes first: an extension that was not there has not
// caused the crash. Among those that were there each time, the sum of the weights decides who
// is tried (see [Suspect].Weight). A weak trace weighs the more the shorter the extension
// usually has it, so that one which is always there weighs nothing.
//
// A trace never convicts. After two crashes the strongest suspect gets a cell of its own
// on trial, away from the home, so that the other extensions do not restart, and the crash
// window of the home is reset. Of several suspects about as strong each half gets a cell,
// and the half that crashes is halved again. If a direct trace may
// come with the next crash, a third and a fourth one are awaited before. A suspect that
// crashes alone is confirmed. If the home crashes twice more, those on trial are cleared and go home, and the search goes
// on with the evidence of the new crashes; after two searches that were misled all that
// were there are tried, whatever their traces. One crash would not do: of two culprits one
// crashes the home while the other is on trial. If no extension was there in all crashes,
// the search begins again with the latest ones. Trials have a budget, [Rules].MaxLives; when it
// is spent, the remaining suspects share one cell until they crash there.
//
// An extension that crashes only together with others does not crash alone: after
// [Rules].Quiet, or five times the mean time between the crashes, the first suspect stays
// isolated and the others go home; if that was wrong, the next crash clears it. Where a direct
// trace was to be expected and none has led to it, it goes home as well at first.
//
// A crash before any activation, or caused by the host itself or by another process, is no
// extension's fault.
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
