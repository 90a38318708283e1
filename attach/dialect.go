package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// dialect is what there is to know of an application protocol. Methods that
// take a hub are called under its lock, those that take a client are not.
type dialect interface {
	// came greets a client, of which nothing was read yet.
	came(c *client)
	// request and notification take what a client says. An error ends the
	// client; errExit is a good end.
	request(c *client, m *codec.Message) error
	notification(c *client, m *codec.Message) error
	// opening makes of a client's params of initialize what the host is opened
	// with.
	opening(params codec.Raw) codec.Raw
	// sameOpening reports whether a host that was opened with the first would be opened
	// no differently with a client's params of initialize.
	sameOpening(have, params codec.Raw) bool
	// reopening returns what the next life is opened with, by what clients have opened
	// the host with.
	reopening(h *Hub) codec.Raw
	// sameRoots says whether two clients work in the same folders, and roots
	// names those of one.
	sameRoots(a, b codec.Raw) bool
	roots(params codec.Raw) string
	// suits returns why the life cannot serve a client with these params of
	// initialize.
	suits(h *Hub, params codec.Raw) error
	// up says to a new life what those before it knew; down tells the clients
	// what of the life that ended does not hold any more.
	up(h *Hub)
	down(h *Hub)
	// notified says which client a notification of the host is for, nil being
	// all of them, [nobody] none, and what it is told.
	notified(h *Hub, m *codec.Message) (*client, codec.Raw)
	// asked returns what answers a request of the host with the help of a client,
	// nil being none: usually the client alone. nil where the rules of the host's
	// spec are to answer.
	asked(h *Hub, c *client, method string) actors.Handler
	// reply returns the answer to a request of the host that no client is needed
	// for, else nil.
	reply(h *Hub, m *codec.Message) *codec.Message
	// related returns the client that a request of the host names, nil being none.
	related(h *Hub, m *codec.Message) *client
	// purpose says what a request of the host with this method is for.
	purpose(method string) purpose
	// causes reports whether an open call of this method can be why the host asks
	// something.
	causes(method string) bool
	// left returns what the host is told when a client has left.
	left(h *Hub, c *client) []codec.Message
	// describe returns what people call such a host, "" if they can be told nothing of
	// it, and what it usually means that one has not answered initialize after some time.
	describe() (name, slow string)
	// show shows a notice to the person behind a client. It returns false if that
	// client may not be told.
	show(h *Hub, c *client, n notice) bool
	// failed is the code of requests that the host could not take or finish.
	failed() int64
}

var dialects = map[string]dialect{
	"jsonrpc-headers": lsp{},
	"jsonrpc-lines":   mcp{},
	"msgpack-rpc":     rpc{},
}

// nobody stands for a client that has left.
var nobody = &client{ended: true}

// passOn has a client answer what the host asks, nil being none.
func (c *client) passOn() actors.Handler {
	if c == nil {
		return nil
	}
	return func(ctx context.Context, in *actors.Incoming) (any, error) { // it waits until the client has its answer to initialize
		return c.ask(ctx, in.Method, in.Params)
	}
}

// encode is for values that can always be encoded.
func encode(v any) codec.Raw {
	b, err := json.Marshal(v)
	if err != nil {
		return codec.Raw("null")
	}
	return b
}

// object is a JSON object whose members are left as they are.
type object map[string]json.RawMessage

func readObject(raw []byte) (object, bool) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, false
	}
	return o, true
}

// substitute replaces the member at path of an object by what with makes of it;
// raw is returned as it is where there is no such member.
func substitute(raw codec.Raw, with func(json.RawMessage) json.RawMessage, path ...string) codec.Raw {
	if !bytes.Contains(raw, []byte(path[len(path)-1])) {
		return raw
	}
	o, ok := readObject(raw)
	if !ok {
		return raw
	}
	have, ok := o[path[0]]
	if !ok {
		return raw
	}
	if len(path) > 1 {
		o[path[0]] = json.RawMessage(substitute(codec.Raw(have), with, path[1:]...))
	} else {
		o[path[0]] = with(have)
	}
	return encode(o)
}

// rename gives the token of a client's request a name that no other client has,
// and adds that to names.
func (h *Hub) rename(c *client, params codec.Raw, names *[]string, path ...string) codec.Raw {
	return substitute(params, func(original json.RawMessage) json.RawMessage {
		if string(original) == "null" {
			return original
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.serial++
		name := fmt.Sprintf("hostsup-%d-%d", c.number, h.serial)
		h.tokens[name] = token{c, bytes.Clone(original)}
		*names = append(*names, name)
		return json.RawMessage(strconv.Quote(name))
	}, path...)
}

// owner finds whose progress a notification tells of, and gives the token back
// its own name. Under the lock.
func (h *Hub) owner(params codec.Raw, member string) (*client, codec.Raw) {
	if !bytes.Contains(params, []byte(`"hostsup-`)) {
		return nil, params
	}
	var to *client
	out := substitute(params, func(name json.RawMessage) json.RawMessage {
		var s string
		if json.Unmarshal(name, &s) != nil {
			return name
		}
		t, ok := h.tokens[s]
		if !ok {
			return name
		}
		to = t.client
		return t.original
	}, member)
	return to, out
}

// forget drops the tokens of a request that was answered.
func (h *Hub) forget(names []string) {
	if len(names) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		h.endWork(strconv.Quote(name))
		delete(h.tokens, name)
	}
}
