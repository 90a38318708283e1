// Package mcphttp serves MCP servers that speak over stdio by MCP's transport Streamable
// HTTP, and is a client of servers that are reached that way. The server is a handler of
// HTTP requests; who may make them is checked in front of it, as package control does.
//
// # Sessions
//
// A session, with its header Mcp-Session-Id, is one program that has attached to a host: it
// is a byte stream, as package attach takes one. So the server behind it may crash and be
// started again while the session goes on, and each request has exactly one outcome. A
// session belongs to the caller that began it. It ends when that caller deletes it, when it
// is idle for longer than Options.Idle, or when package attach detaches its program. Its open
// requests are then answered with the reason, and later requests with 404.
//
// The revisions that have no session, from 2026-07-28 on, are served likewise: there each
// request is a program of its own, which attaches, asks and leaves.
//
// # Streams
//
// A request is answered with JSON if its answer is the first that there is to say within a
// second, and else with a stream of events, if the caller accepts both. Progress goes to the
// stream of the request that it belongs to. A request of the server goes to the stream of
// the only request that is open, else to the stream of GET if there is one, else to the last
// request that was made. Other notifications go to the stream of GET if there is one, else
// likewise. What has no stream waits for one.
//
// Events have ids. A caller that was cut off gets the rest of a stream by a GET with the last
// id that it has seen as Last-Event-ID. A session keeps 4 MiB of events for that. When it has
// more, it drops the oldest sent events first. Then it drops unsent events of streams without
// a reader: notifications are dropped, requests of the server are answered with an error, and
// an answer is replaced by an error. A GET for a stream that has ended and was sent whole is
// answered with 204, so that the client does not reconnect.
//
// A caller that reads slowly holds up its own session only: the rules for slow programs of
// package attach hold for it.
//
// # Servers elsewhere
//
// A [Remote] is the other side: it is a client of a server that is reached over HTTP, for
// programs that speak to servers over stdio. Messages are handed on as they are. It keeps the
// session, repeats parts of messages in headers where a revision demands that, and continues
// streams that were cut off. When nothing can be handed on any more, it ends with the reason,
// so that whoever supervises its process starts it again.
package mcphttp
