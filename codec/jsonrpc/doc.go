// Package jsonrpc is JSON-RPC 2.0 in the two framings that programs speak it
// in over stdin and stdout: [Headers], with Content-Length before each message,
// as the Language Server Protocol 3.17 has it, and [Lines], a message on each
// line, as the stdio transport of the Model Context Protocol has it. What is
// said over each framing is fixed: LSP over headers, MCP over lines.
//
// # The wire
//
//	Content-Length: 52\r\n\r\n{"jsonrpc":"2.0","id":2,"method":"m","params":{}}…
//	{"jsonrpc":"2.0","id":2,"method":"m","params":{}}\n
//
// Requests of this side are numbered; those of the peer, whose ids are strings
// or integers of any size, are given numbers from 1 and answered under what the
// peer wrote. At most [MaxOpen] of them may be unanswered, and a second one
// under the id of an open one is refused. What is read is checked in one pass
// that decodes nothing: depth, elements, strings, UTF-8, numbers, nothing
// behind the message. A header takes at most 8 KiB and 32 lines; names in it
// are compared without regard to case, Content-Type may name UTF-8 only,
// others are ignored, and a line may end in a line feed alone.
//
// # What is tolerated
//
// Programs are laxer than JSON-RPC 2.0 (the specification at jsonrpc.org), so
// that these are no errors: a message without "jsonrpc"; of a key that comes
// twice the last value counts, as for JSON.parse; a null result beside an error
// and the other way round; a response with neither, which has no result; params
// null. A batch is taken apart, in order, in either framing (MCP 2025-03-26 had
// them); its requests are answered one by one. Of lines those may end in CRLF,
// be empty, or begin with a byte order mark, and the last one may lack its end.
//
// Errors are: a version other than "2.0", a request whose id is null, a result
// beside an error, a method beside either, an answer whose id was never a
// number of ours, and an answer under id null, which is how a peer says that it
// could not read what it was sent: its words are in the error.
//
// # Noise
//
// A line that begins neither with an object nor with an array of objects is
// something that was printed ("[INFO] ready"), and so is a JSON object without
// any member of a message, as loggers write them. Such lines are told to who
// listens, in pieces of at most 64 KiB, and are never held whole; with
// [Options.FailOnNoise] they end the connection. A line that begins with an
// object and is none is always an error: it may be half of an answer. Between
// headers there is no telling noise from the beginning of a message, so that
// there it is an error that quotes it.
//
// # LSP
//
// The handshake is initialize and initialized. Until the answer the server may
// send notifications and window/showMessageRequest. A gone caller is told by
// $/cancelRequest. A request of [codec.Message.Progress] is given its number as
// workDoneToken, and $/progress under that number is about it. The goodbye is
// shutdown, then exit. For life servers are asked by [MethodPing]: a request
// whose method begins with "$/" may be unknown to a server but has to be
// answered.
//
// # MCP
//
// There are two generations. In that of the revisions 2024-11-05, 2025-03-26,
// 2025-06-18 and 2025-11-25 a connection is opened by initialize and
// notifications/initialized, and ping asks for life. Revision 2026-07-28 (its
// pages "Versioning and Compatibility", "stdio" and "Discovery") has no session:
// each request names the protocol's version and the client's capabilities in
// _meta, server/discover tells what a server is, and there is no ping, nor any
// request of the server's.
//
// That revision would have clients that know both ask server/discover first and
// fall back on any error, or on silence, which takes a clock and ends servers
// that die of a request before initialize. It also has servers of the new
// generation refuse initialize with an error, of a code that is their choice,
// and lets those that know both be opened by it. So initialize is asked first;
// when it is refused, whatever the code, server/discover is asked; when that is
// refused as well both answers are told. Error -32022 names the versions that a
// server speaks and is final when none is ours. Who puts "protocolVersion":
// "2026-07-28" into [codec.Hello.Init] has server/discover asked first. Of a
// host without session _meta is filled in for each request, where the caller
// has not done so; it has no liveness unless [Options.Ping] names a request,
// for which server/discover is a good choice.
//
// Of a server that answers initialize with a version nobody has asked for, each
// older than 2026-07-28 is taken: they differ in nothing that matters here.
//
// A gone caller is told by notifications/cancelled. A request that the peer has
// taken back gets no answer, see [Session.Forget]. A request of
// [codec.Message.Progress] is given its number as progressToken. There is no
// goodbye but the end of the stream. Before the handshake is done, a server's
// ping is answered by it; later ones are handed out like other requests, but
// that nobody knows such a method is no answer to them: it is sent as the empty
// result that MCP demands.
//
// # Promises
//
// Nothing is set aside for bytes that have not come: a frame over the limit is
// refused at its header, or with its first byte over the limit, and a longer
// one grows as it arrives. Reading is linear in the bytes, however they are
// cut. A payload that was handed out is never written to again. Payloads are
// not decoded, re-encoded or put in another order; line ends between values
// become spaces where a line has to hold them.
package jsonrpc
