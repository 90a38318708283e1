// Package actors is the supervision tree: one actor per box, one job each.
//
//	Supervisor    the root; groups, names, shutdown, where escalation ends
//	└─ Group      start order, shared fate, stop in reverse
//	   └─ Host    the state machine; calls that wait; verbs
//	      ├─ Life         one life: fails as a whole, is replaced as a whole
//	      │  ├─ Process      one OS process with its tree
//	      │  └─ Connection   one framed byte stream
//	      │     └─ Request   one pending request: exactly one outcome
//	      └─ Aftermath    drains the pipes of an ended life, files the report
//
// What is decided (which state follows, when to start again, who shares whose
// fate) is decided by package lifecycle; the actors carry it out. How a failed
// life is answered is the business of the strategies in package supervisor.
//
// # The way of a call
//
// [Ref] is the handle of a host. A call reserves a place in max_pending, makes a
// [Request] and hands it to the link of the running life (package link), which
// writes it and gives it its outcome. No mailbox lies on this way. Without a running
// life the request goes to the Host's mailbox, where it waits or is answered. What
// the host says by itself the link tells to conn, its owner.
//
// # Features
//
// A feature is an [Interceptor] in a package above this one: nothing here has to
// change for it. What it is told, and what it may decide, its fields say; a host has a
// list of them ([HostSpec].Interceptors, [Ref.Intercept]), which messages pass in the
// order of their stages.
//
// # Promises about order and concurrency
//
//   - A Request has exactly one outcome: an answer, an error of the host,
//     crashed, unresponsive, timed out, cancelled, overloaded or stopped.
//   - A [Call] or another message to the root of a tree that has an answer gets
//     exactly one, or is a dead letter, whatever becomes of the tree meanwhile.
//   - Requests of one goroutine are written in the order in which they were
//     made, within one life.
//   - Events are numbered in the order in which they are written; those of one
//     host are in the order of its transitions.
//   - No actor waits for a host. The Process actor blocks while the kernel
//     starts or, on teardown, ends its own process; Aftermath for 100 ms at most.
//   - Messages about a life carry its number; those of an old life change nothing.
//
// # What it never does
//
// It uses neither the actor library's Restart nor its Future, ReceiveTimeout or
// Stash (see package safeactor for why), never ends the program, and keeps no global
// state: any number of trees live side by side in one program.
package actors
