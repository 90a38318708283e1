// Package link is one conversation with one peer: requests in both directions over
// one stream of bytes.
//
//	          Send                                  Owner
//	            │                                     ▲
//	Pending ── Conn ── pending.Table                  │ what comes by itself, the end, …
//	            │                                     │
//	         outbox ── Wire ══════ peer ══════ Wire ── read loop
//
// A [Pending] is a request to the peer: a promise with one outcome and a deadline.
// [Conn.Send] gives it an id in the table of package pending, which decides, and puts
// its frame into the outbox. A lone frame is written by its sender; else the write
// loop sends what has come meanwhile in one write. The read loop takes the answer,
// and settles the promise, which wakes whoever waits.
//
// What the peer says by itself goes to the [Owner]: notifications, and requests, which
// it answers at once or by a [Handler]. A handler has the [Incoming] request for a
// context, and may send the items of its result. The link bounds how many requests are
// open, cancels them when the peer takes them back, and keeps the order of their answers
// where the protocol wants one; package pending decides here, too.
//
// What the read loop does between two waits is a turn. At its end the loop acknowledges
// the requests that it has handed to handlers and that are not answered yet, and writes
// all that the turn has made at once.
//
// Features see what passes in four places: Owner.Sent and Owner.Answered have each
// request of this side and its answer, Owner.Asked and Owner.Notified what the peer says
// by itself. Where nobody looks, each costs the call of a method.
//
// # Order and concurrency
//
//   - Requests of one goroutine are written in the order in which they were sent, a
//     cancel behind its request, and everything else in the order in which it was put.
//   - The owner is told of what the peer says in the order of the stream.
//   - A call takes the lock of the table twice, to register and at the answer, and that
//     of the outbox once. Nothing is encoded or written under the lock of the table,
//     and nothing that can block is done under either. The outbox's goes before the
//     table's.
//   - Frames are encoded under the lock of the outbox, as sessions want it.
//
// # What it never does
//
// It knows no actor, host or life, starts no process, and decides nothing about
// restarts. It takes time, timers and goroutines from its [Env] alone.
package link
