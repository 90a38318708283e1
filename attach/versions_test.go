package attach

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// Edits have the versions by which the client counts, or one that it refuses.
func TestNumbered(t *testing.T) {
	h := &Hub{docs: documents{open: map[string]*document{}}}
	a, b := new(client), new(client)
	edit := func(version string) codec.Raw {
		return codec.Raw(`{"edit":{"documentChanges":[{"edits":[],"textDocument":{"uri":"u","version":` + version + `}},{"kind":"rename"}]}}`)
	}
	is := func(what string, c *client, version, want string) {
		t.Helper()
		if got := h.numbered(c, edit(version)); string(got) != string(edit(want)) {
			t.Errorf("%s: %s, want version %s", what, got, want)
		}
	}
	h.docs.didOpen(a, open("u", "one"))
	is("one client", a, "1", "1")
	is("one client, of an older text", a, "0", "0")
	h.docs.didOpen(b, open("u", "two")) // the host counts 2
	is("the client of the text", b, "2", "1")
	is("the client of the text, of an older one", b, "1", "-1")
	is("the client of another text", a, "2", "-1")
	is("no version", b, "null", "null")
	is("a client that has not opened it", new(client), "2", "2")
	const other = `{"changes":{"u":[]}}`
	if got := h.numbered(b, codec.Raw(other)); string(got) != other {
		t.Error(string(got))
	}
}
