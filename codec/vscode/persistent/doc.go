// Package persistent is the framing under VS Code's extension host protocol as
// a pure machine: frames with numbers, acknowledgements, and everything again
// after a new socket. It holds no clock and does no I/O; who drives it says what
// time it is.
//
// # The wire
//
// A frame is a header of 13 bytes and its data:
//
//	u8   type    regular, control, ack, disconnect, replay request, pause, resume, keep-alive
//	u32  id      of a regular frame, from 1 without gaps; else 0
//	u32  ack     the last regular frame that was received; 0 says nothing
//	u32  length  of the data
//
// # Rules
//
// Only regular frames are numbered. They are kept until an ack covers them, and
// every frame carries an ack; where there is nothing to send, a frame of its own
// does [AckAfter] after the first that it covers. [KeepAliveEvery] there is a
// keep-alive. A frame that was received before is dropped, and so is one behind a
// gap, which asks for a replay, at most once each [ReplayEvery]; the other side
// then sends everything again that it keeps. A side that was asked to pause writes
// nothing until it is asked to resume.
//
// A socket has timed out when the oldest unacknowledged frame was written at
// least [TimeoutAfter] ago, nothing was heard for as long while somebody
// listened, the last time-out was as long ago, and this side was not itself too
// slow to hear anything: of its ten last looks, one a second, half were on time.
// What then happens is the driver's affair; see [Machine.Attach].
//
// # Promises
//
// What was given to Send is delivered by the other side's machine exactly once
// and in order, whatever sockets are lost on the way, as long as there is a next
// one. A header that breaks the rules is an error, and says so before any of its
// data is read. A Machine is not safe for concurrent use.
package persistent
