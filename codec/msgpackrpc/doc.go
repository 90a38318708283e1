// Package msgpackrpc is MessagePack-RPC, as Neovim, its plugin hosts and other
// programs speak it. The wire is the one that the MessagePack-RPC specification
// gives (github.com/msgpack-rpc/msgpack-rpc, spec.md), with what Neovim's manual
// adds to it (":help api", ":help rpc"): MessagePack arrays, one behind the
// other without lengths between them.
//
//	[0, msgid, method, params]   request
//	[1, msgid, error, result]    response
//	[2, method, params]          notification
//
// A msgid is any number of 32 bits, 0 included. A method may come as str or, as
// older clients send it, as bin; it goes out as str. Params are an array: nil
// params go out as the empty one, any other value that is no array as an array
// of that value alone; what comes in is handed out as it is. Extensions pass
// through untouched: they are Neovim's handles of buffers, windows and tabpages.
// A timestamp apart, ToJSON shows them as {"$ext": type, "data": base64}.
//
// # Errors
//
// An error may be any value. A string is the message; an array of a number and
// a string, as Neovim sends it, is code and message; of anything else the
// message is its JSON, and Data the value. What Neovim, pynvim and the node host
// answer for a method that they do not have gets the name "MethodNotFound"; no
// other error has a name. An error of ours goes out as [0, text], which is
// Neovim's "Exception" and which its clients understand as well; one of code 1 as
// [1, text], "Validation".
//
// # Signs of life
//
// The protocol has no ack and no ping. The request "poll" stands in: it is what
// Neovim itself asks its plugin hosts, which answer "ok". Neovim does not know
// the method, and says so at once, also while it waits for a key, runs a
// command of the shell or a loop in Vim script; nvim_get_mode, which its manual
// recommends, has to wait in the latter two. A loop in Lua keeps Neovim from
// answering anything. Because a host that is busy cannot be told from one that
// hangs, unresponsive hosts are not killed unless that is asked for.
//
// A plugin host answers nothing, "poll" included, before its own first request,
// nvim_get_api_info, is answered.
//
// # The order of answers
//
// A Neovim that asks by its rpcrequest() waits in it, where it may be asked to ask
// again; it takes the answers in the reverse order, and an answer out of turn for
// a reason to end. See [Session.Stacks].
//
// # Order and concurrency
//
// There is no handshake, and [codec.Hello.Init] has no place to go. A
// [Session]'s Append and its Reader may each run on another goroutine, each on
// one at a time. The ids that a peer gives its requests are replaced by ones
// from 1 while they are open, at most 4096 at once. A response whose id was
// never given is the connection's to judge, but for the id 0, by which peers say
// that they could not read a message. At the end the stream is closed, which
// ends Neovim and its hosts.
//
// # What a Reader refuses
//
// Bytes that are not one well-formed MessagePack value within the limits, an
// array of another shape than those above, a method that is empty, longer than
// [MaxMethod] or not UTF-8, and the id of a request that is open already. Text
// on the stream, a banner or a warning, is not skipped: the error shows it.
//
// # What it never does
//
// It sets no memory aside for a length that was only claimed, looks at no byte
// again because more have come, copies no payload, and never writes again where
// a payload that was handed out lies.
package msgpackrpc
