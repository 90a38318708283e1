// Package native is hostsup's own protocol, version 1: frames of a u32
// big-endian length and one MessagePack array each, for requests in both
// directions with acknowledgement, cancellation and streamed results under
// credit. docs/protocol.md is the wire on one page.
//
// The supervisor's side is [New], a [codec.Protocol]. A host written in Go
// uses [Open] and [Session.Accept]; both sides share Append and the Reader.
//
// # Order and concurrency
//
// A [Session]'s Append, its Reader and its handshake may each run on another
// goroutine, each on one at a time. Capabilities come into force with the
// handshake: on the reading side exactly behind the message that fixed them,
// on the appending side when the handshake's Handle has returned.
//
// # Ids
//
// Each side counts its own requests from 1. The supervisor's id 1 is the
// handshake's initialize; its connection goes on from 2.
//
// # What a Reader refuses
//
// A length of zero or over the limit, bytes that are not one well-formed
// MessagePack value within the limits, a kind other than 0 to 6, a wrong
// number of elements, an id that is zero or over 32 bits, a method that is
// empty, longer than [MaxMethod] or not UTF-8, and a kind whose capability is
// not in force. Whether an id was ever given and whether an item has credit is
// the connection's to know.
//
// # What it never does
//
// It sets no memory aside for a length that was only claimed, copies no
// payload, and never writes again where a payload that was handed out lies.
package native
