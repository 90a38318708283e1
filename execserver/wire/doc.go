// Package wire is the language that an exec server and its clients speak:
// method names, params and results, ids, errors, the JSON-RPC dialect with its
// malformed input, limits, base64 and file: URIs. It has no connection and
// starts nothing; execserver speaks it as a client, execserver/server as a
// server.
//
// # The dialect
//
// JSON-RPC 2.0 without the jsonrpc member, which is accepted and ignored. An id
// is a string or a 64-bit integer. There are no batches. Over a WebSocket a
// message is one text frame (a binary frame with the same text is accepted);
// over stdio and over a Unix socket it is one line.
//
// # Extensions
//
// A client that knows of them asks for them by the member extensions of
// initialize ([Extension]); the answer then lists what there is. To a client
// that does not ask, methods and members of extensions do not exist.
//
// # What it promises
//
// [Decode] and [DecodeParams] accept any bytes and use memory in proportion to them;
// their errors have the words that clients of this protocol know. The package keeps
// no state; everything is safe for concurrent use. For frequent messages there are
// Append functions, which write JSON into the caller's buffer without reflection.
package wire
