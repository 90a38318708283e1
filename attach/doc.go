// Package attach lets programs that want a server of their own share a
// supervised one. Each client speaks the host's own protocol over a byte stream
// as if it had started the server; behind it the server may crash and be started
// again, and the client's stream goes on.
//
// A [Hub] stands between one host and its clients. It speaks the Language Server
// Protocol (codec "jsonrpc-headers") and the Model Context Protocol (codec
// "jsonrpc-lines"), whose handshakes can be told again, and MessagePack-RPC (codec
// "msgpack-rpc"), which has none.
//
// # What clients see
//
// Requests get ids of the connection they travel on, so that several clients
// never meet; a client's own ids come back to it. A request that the host did not
// answer before it crashed is answered with an error; one that comes while the
// host is down waits for the next life. To a language server a lost request that only
// reads, such as hover, is made once more, unless the client has edited the document
// since, or another client has used it with another text; where it cannot be, the error is
// ContentModified (-32801), for which editors show nothing. Cancellations and the tokens of progress
// find their request. Notifications of the host go to all clients, in order. Its
// own requests go to the client whose call has caused them, as far as that can be
// told: if exactly one has a call open it is that one, else one that has announced
// that it can answer. One that has told that its roots are others counts as one with a
// call open until the host has asked for them. With [Rule].Isolate they are refused
// otherwise. The rules of the host's spec answer while there is no client. What a language
// server has registered with a client that leaves is registered with the next in its
// name; while no client is there the hub itself agrees, and keeps it for who comes.
//
// The first client's initialize is what the host is started with, if its spec
// says so ([supervisor.HostSpec].Attach), else the spec's own Init is. Every client gets
// the recorded answer; one that has other root folders, or that cannot count characters
// in the encoding of positions that the host has chosen, is refused while others
// are attached. One that comes when no other is attached, and has another initialize,
// gets a new life that is opened with its own. shutdown and exit end the
// client's own connection and nothing else.
//
// With [Rule].IdleStop a host that no client has used for some time is stopped. The next
// client starts it again, also one that comes while it stops.
//
// With [Rule].Instances programs that attach to a host get instances of it: hosts of
// their own that are added and removed while the tree runs. Which one a program gets, and
// which one goes, is decided by a machine without I/O, which testdata/pool.txt tells.
//
// A client of MessagePack-RPC is one from its first byte on, and a host that does
// not run is started for it; where that fails the client is let go. What it says
// without asking is lost while the host is down.
//
// # News of an MCP server
//
// Each client gets the updates of resources that it has subscribed to, and log messages
// of the level that it has set. The host is asked for the least severe of these levels,
// and each new life for what the clients of the time want to hear. A life speaks one of
// the two generations of MCP, that of the client it was opened by if it can, since a
// connection to a server belongs to one of them. Programs of the other generation that
// attach at the same time share another process, an instance NAME@1 of the host that is
// opened by them. It is removed when they have left, after [Rule].IdleStop or ten minutes.
// They are refused with error -32022 if the server does not speak their generation, or if
// that process cannot be started. Without the handshake, a request
// subscriptions/listen is kept open over lives, and its id is the client's own.
//
// # Documents
//
// The hub keeps the text of each document as each client has it. The host sees a
// document opened once, however many clients do, and closed after the last. It has the
// text of the client that used the document last: by opening, changing or saving it,
// or by a request about it, whose positions hold for no other text. Where the client
// that used it before has another text, the host is given the whole text first, and
// that other client is warned, once until all texts are the same again. When a client
// leaves, the host is given the text of the one that used the document before. Versions
// that the host sees count on; diagnostics name the version of each client.
//
// A new life gets the settings that a client has last told the host, and the documents
// and notebooks, before any request. What a life has said of documents is taken back when
// it ends, and its work in progress is ended; clients that can are asked to refresh what
// they show. A notebook that clients share is closed and opened again for another state. A
// client that opens a document which others have open is told what the host has last
// published about it. Diagnostics go only to clients that have the text they are about.
//
// # Another version
//
// Of the encodings of positions a host is offered UTF-16 alone, unless the client that
// opens it does not name that: all programs that share it then count alike. A new life may
// be another program. It is offered no other encoding than the one in use, gets whole texts if it accepts no parts, and what it offers in addition
// is not used. If it cannot be spoken to as its clients do, because it lacks a capability,
// counts characters otherwise, or gives other numbers to its semantic tokens, these
// clients are ended with the reason, so that they open it anew.
//
// # Concurrency
//
// A client that does not read holds up nobody for long. Up to 8 MiB wait for it as
// long as it likes. Over that, reading from the host pauses so that a client that
// reads can catch up, for at most 500 ms if it takes nothing in that time, and again
// for each further 8 MiB. A client is cut off, with a reason that Serve returns and
// the log has, when it takes less than 1 MiB in 10 seconds while more than 8 MiB wait
// for it, or when more than 64 MiB do.
package attach
