// Package pending keeps the requests that are open on one connection, as a pure
// machine: [Table.Step] takes an [Event] and the time, and returns the [Effects]
// for the caller to carry out.
//
// The [Table] gives out ids, counts the acknowledgements that are owed, bounds the
// items of streamed results by credit, tells late answers from those that nobody
// asked for, and says when a connection has drained. [Incoming] does the same for the
// requests that the peer makes: it bounds and orders them, and counts the credit of
// their items.
//
// # Order and concurrency
//
// A Table is not safe for concurrent use. The caller must hold one lock around Step,
// and must carry the effects out in the order of the steps where their order matters.
//
// # What it never does
//
// It has no goroutine, no clock and no timer, encodes and writes nothing, and knows
// neither actors nor hosts. Step sets no memory aside but for the lists of [CutOff]
// and [Close] and the growth of the table itself.
package pending
