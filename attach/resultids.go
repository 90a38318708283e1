package attach

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// A server names an answer by a resultId so that the next answer can be told as a
// difference to it. The next life may give the same name to another answer; so clients
// get the names with the number of the life before them, and a name of a life that has
// ended is not used again.

const methodDelta = "textDocument/semanticTokens/full/delta"

// identified are the requests whose answers have a resultId.
var identified = map[string]bool{
	"textDocument/semanticTokens/full": true,
	methodDelta:                        true,
	"textDocument/diagnostic":          true,
}

// tagged puts the number of the life before the resultId of an answer. Of life 0, which
// is one that is not known, the answer gets none.
func tagged(result codec.Raw, life uint64) codec.Raw {
	o, ok := readObject(result)
	if !ok || o["resultId"] == nil {
		return result
	}
	if life == 0 {
		delete(o, "resultId")
	} else {
		o["resultId"] = json.RawMessage(encode(strconv.FormatUint(life, 10) + "/" + stringOf(o["resultId"])))
	}
	return encode(o)
}

// untagged returns a request with the server's own name for the answer that it refers
// to. A request that refers to an answer of another life is made one for a whole answer.
func untagged(method string, params codec.Raw, life uint64) (string, codec.Raw) {
	o, ok := readObject(params)
	if !ok || o["previousResultId"] == nil {
		return method, params
	}
	tag, name, _ := strings.Cut(stringOf(o["previousResultId"]), "/")
	if life != 0 && tag == strconv.FormatUint(life, 10) {
		o["previousResultId"] = json.RawMessage(encode(name))
		return method, encode(o)
	}
	delete(o, "previousResultId")
	return strings.TrimSuffix(method, "/delta"), encode(o)
}

// refers reports whether a request refers to an answer.
func refers(params codec.Raw) bool {
	o, _ := readObject(params)
	return o["previousResultId"] != nil
}
