// Package safeactor is the actor library without its traps: what makes actors,
// mailboxes and actor systems for every tree of this module, and what they are sent
// messages with. A trap of the library that is found next is guarded here, and gets
// its line in the list below and its test; what an actor does has no place here.
//
//   - A nil message makes a mailbox spin for ever: [Tell] refuses it.
//   - An actor without a parent of ours is restarted when it fails, and its
//     children would be gone: [Root] lets nothing out.
//   - A panic in Stopping or Stopped turns a stop into a restart or blocks the
//     parent for ever: all actors that are made here recover there.
//   - ReceiveTimeout and Future race inside the library: timers send messages with a
//     generation, answers use channels or plain sends.
//   - A restart keeps the mailbox and can bring a stopped actor back to life:
//     no strategy may restart, failed actors are stopped and made anew.
//   - A panic on a goroutine of an actor's own ends the program: link.Contain makes
//     it an error, on the read loops, where a protocol and a program's own
//     callbacks run.
//   - Stop drops what is queued without a word: whatever must be answered is
//     kept outside mailboxes, or its receiver is made by [Owing].
//   - A registry has 32,768 maps: [NewSystem] makes one with few.
package safeactor
