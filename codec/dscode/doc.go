// Package dscode is the wire between DSCode and its extension host: JSON messages.
// It knows no process, file or socket: how hosts are met at unix sockets is in
// package extensions/dscode. It follows the crate dscode-extension-host 0.1.0,
// whose module for it is the only description there is; where that leaves
// something open, what is done here is said below.
//
// # The wire
//
// A frame is a u32 big-endian length, from 1 to 50 MiB, and a JSON object of
// that many bytes:
//
//	{"id": "req_7", "type": "workspace.open", "payload": …}
//
// A request has the id req_<n>, a one-way message msg_<n>. A reply has the id
// of its request and the type "<type>-response", or "<type>-error" with the
// payload {"error": "text"}. Other keys are ignored, a missing payload is null.
// There is no handshake, no cancelling, no question whether somebody is there,
// and no farewell: the sockets are closed, and a signal follows.
//
// # One stream
//
// A life has one [codec.Stream] for all its sockets. Each frame has a label in
// front that says which connection it belongs to, in both directions (see
// [LabelSize]), so that the session, which knows from where a request came,
// sends the answer back there. Labels never leave the process.
//
// # Order and concurrency
//
// Frames of one connection stay in order; those of different ones have none.
// Requests of one connection do not wait for each other's answers. A session's
// Append and its Reader may run on different goroutines.
//
// # Bounds
//
// [MaxOpen] requests of a host may be open.
//
// # What differs from the original
//
// Requests of one connection are served side by side. A message that cannot be
// written leaves nothing behind. Answers to one-way messages, which the
// original gives and ignores, are not given, and ignored. An id on the
// connection for replies that was never ours is an error, and not passed over.
package dscode
