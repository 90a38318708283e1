// Package codec is the vocabulary shared by everything that turns bytes into
// messages: the message itself, the errors one side answers the other with,
// what can be wrong with a peer's bytes, the limits, and the interfaces a wire
// language implements. The languages are packages below this one.
//
// # The parts
//
// A [Protocol] is a value without state. [Protocol.Open] makes the [Session]
// of one connection; the session appends messages to a buffer, reads them
// through its [Reader], opens the connection by a [Handshake], and names the
// requests for "are you there" and "please end". Payloads stay encoded, as
// [Raw], from the stream to whoever wants them, and are decoded once, by the
// protocol's [Encoding].
//
// What only some protocols can are functions in [Features] and [SessionFeatures]:
// a host asks its protocol for the first once, when it is made, and a connection
// its session for the second. Nobody asks again on the way of a message.
//
// # Promises
//
// Every byte a Reader takes is checked against the connection's [Limits]
// before memory is set aside for what it claims. A Reader returns messages in
// the order of the stream. A message whose shape is wrong is a *[FrameError];
// whether an id was ever given, or an item is backed by credit, is for the
// connection to know.
//
// Append and a Reader of the same session need no lock between them; each
// belongs to one goroutine at a time. A [Raw] handed out is the receiver's to
// keep, but it may keep a block of up to 64 KiB alive that it is a part of:
// what is kept for long is better copied.
//
// # What it never does
//
// It does no input or output of its own, starts no goroutine, holds no clock
// and keeps no global state. It knows nothing of actors, processes or
// configuration.
package codec
