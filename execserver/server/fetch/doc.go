// Package fetch makes the HTTP requests of http/request: one request for each
// call, its body answered as a whole or as a stream of pieces.
//
// # What it promises
//
// Headers go out in the order in which they came, repeats included, in lower
// case, and come back grouped by name in the order in which the server sent
// them. Nothing is added but accept, host, the length of a body and, when a
// redirect is followed, referer. Bodies are passed on as they are, never
// decompressed.
//
// A redirect is followed at most ten times. To another host no credentials are
// taken along; POST becomes GET where browsers do the same.
//
// Every request has a connection of its own, HTTP/1.1, which ends with it: there
// is no goroutine and no descriptor left when a call and its stream have ended.
// Memory is bounded by [Options]; a stream takes one buffer, and a client that does
// not read stalls only the connection to that server.
//
// With [Options.RefusePrivate] every address is checked at the moment of the
// connection, so that neither a name that changes nor a redirect leads to a private
// address.
//
// # Why this is not net/http
//
// The real server's answers were recorded (testdata/http.jsonl). A client sees in
// them the order in which headers were sent and received, names in lower case,
// and transfer-encoding. Package http sends Host first and the others by the
// alphabet, keeps the headers of a response in a map and takes
// transfer-encoding out of it: with it none of the recorded responses is the
// same. Its reader of chunks is used here, and its rules for proxies.
//
// # Order
//
// The pieces of one stream come in order from [Body.Run], which is called when
// the answer to the request has been sent. Different requests do not wait for
// each other. [Client] is safe for concurrent use.
package fetch
