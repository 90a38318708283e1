package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hostsup/hostsup/codec"
)

func TestOffset(t *testing.T) {
	const text = "aé𝄞b\r\nsecond\rthird\n"
	for _, test := range []struct {
		line, character int
		encoding        string
		want            string // what stands there
	}{
		{0, 0, "", "aé𝄞b"}, {0, 1, "", "é𝄞b"}, {0, 2, "", "𝄞b"}, {0, 3, "", "𝄞b"}, {0, 4, "", "b"}, {0, 5, "", "\r\n"}, {0, 99, "", "\r\n"},
		{0, 1, "utf-8", "é𝄞b"}, {0, 3, "utf-8", "𝄞b"}, {0, 7, "utf-8", "b"},
		{0, 2, "utf-32", "𝄞b"}, {0, 3, "utf-32", "b"}, {0, 2, "utf-16", "𝄞b"},
		{1, 0, "", "second"}, {1, 6, "", "\rthird"}, {2, 2, "", "ird\n"}, {3, 0, "", ""}, {9, 9, "", ""},
	} {
		at := offset(text, position{test.line, test.character}, test.encoding)
		if got := text[at:]; !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%d:%d %s is before %q, want %q", test.line, test.character, test.encoding, got, test.want)
		}
	}
}

// Changes made place by place give what the same changes give on the whole.
func TestApply(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aé𝄞\n")
	word := func(n int) []rune {
		out := make([]rune, n)
		for i := range out {
			out[i] = letters[rnd.IntN(len(letters))]
		}
		return out
	}
	at := func(text []rune) position { // in UTF-16
		var p position
		for _, r := range text {
			if r == '\n' {
				p = position{Line: p.Line + 1}
			} else {
				p.Character += len(utf16.AppendRune(nil, r))
			}
		}
		return p
	}
	for range 2000 {
		text := word(rnd.IntN(20))
		from := rnd.IntN(len(text) + 1)
		to := from + rnd.IntN(len(text)-from+1)
		instead := word(rnd.IntN(5))
		ch := contentChange{Text: string(instead)}
		raw := fmt.Sprintf(`{"start":%s,"end":%s}`, encode(at(text[:from])), encode(at(text[:to])))
		if err := json.Unmarshal([]byte(raw), &ch.Range); err != nil {
			t.Fatal(err)
		}
		got, err := ch.apply(string(text), "")
		want := string(text[:from]) + string(instead) + string(text[to:])
		if err != nil || got != want {
			t.Fatalf("%q, %d to %d by %q: %q (%v), want %q", string(text), from, to, string(instead), got, err, want)
		}
	}
	ch := contentChange{Text: "x"}
	_ = json.Unmarshal([]byte(`{"start":{"line":1,"character":0},"end":{"line":0,"character":0}}`), &ch.Range)
	if _, err := ch.apply("a\nb", ""); err == nil {
		t.Error("a change that ends before it begins was made")
	}
	if got, err := (&contentChange{Text: "all"}).apply("a", ""); got != "all" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func open(uri, text string) codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": 1, "text": text}})
}

func change(uri, text string, version int) codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": []any{map[string]any{"text": text}}})
}

// tells returns what the host is told, in short.
func tells(out outcome) string {
	var all []string
	for _, m := range out.host {
		all = append(all, m.Method+" "+string(m.Params))
	}
	return strings.Join(all, "; ")
}

// The host sees a document once, from the first opening to the last closing, with the
// text of the client that has used it last.
func TestDocuments(t *testing.T) {
	ds := documents{open: map[string]*document{}}
	a, b := new(client), new(client)
	want := func(what string, got outcome, host string, apart ...*client) {
		t.Helper()
		if tells(got) != host {
			t.Errorf("%s: the host is told\n%s, want\n%s", what, tells(got), host)
		}
		if !slices.Equal(got.apart, apart) {
			t.Errorf("%s: %d clients are warned, want %d", what, len(got.apart), len(apart))
		}
	}
	opens := func(c *client, uri, text string) outcome {
		out, _ := ds.didOpen(c, open(uri, text))
		return out
	}
	changes := func(c *client, params codec.Raw) outcome {
		t.Helper()
		out, err := ds.didChange(c, params, terms{})
		if err != nil {
			t.Error(err)
		}
		return out
	}
	insert := func(version, character int, text string) codec.Raw {
		at := map[string]any{"line": 0, "character": character}
		return encode(map[string]any{"textDocument": map[string]any{"uri": "u", "version": version},
			"contentChanges": []any{map[string]any{"range": map[string]any{"start": at, "end": at}, "text": text}}})
	}
	whole := func(text string, version int) string {
		return "textDocument/didChange " + string(encode(map[string]any{"textDocument": map[string]any{"uri": "u", "version": version}, "contentChanges": []any{map[string]any{"text": text}}}))
	}

	want("the first opens", opens(a, "u", "one"), "textDocument/didOpen "+string(open("u", "one")))
	want("the second opens", opens(b, "u", "one"), "")
	want("the first changes", changes(a, insert(2, 0, "LONG ")), "textDocument/didChange "+string(insert(2, 0, "LONG ")), b)
	want("and goes on", changes(a, insert(3, 0, "A ")), "textDocument/didChange "+string(insert(3, 0, "A ")))
	want("the first closes", ds.didClose(a, closed("u")), whole("one", 4))
	want("the second changes", changes(b, insert(2, 3, "!")), "textDocument/didChange "+strings.Replace(string(insert(2, 3, "!")), `"version":2`, `"version":5`, 1))
	want("it opens with another text", opens(a, "u", "other"), whole("other", 6), b)
	want("the other asks", ds.asks(b, "u"), whole("one!", 7), a)
	want("it asks again", ds.asks(b, "u"), "")
	want("the first asks", ds.asks(a, "u"), whole("other", 8))
	want("both agree", changes(b, change("u", "other", 9)), whole("other", 9))
	want("the first changes what both have", changes(a, insert(2, 0, "x")), "textDocument/didChange "+strings.Replace(string(insert(2, 0, "x")), `"version":2`, `"version":10`, 1), b)

	if _, err := ds.didChange(a, codec.Raw(`[]`), terms{}); err == nil {
		t.Error("a change that is none was taken")
	}
	want("an unknown document", changes(a, change("unknown", "x", 1)), "textDocument/didChange "+string(change("unknown", "x", 1)))
	want("another document", opens(b, "v", "two"), "textDocument/didOpen "+string(open("v", "two")))
	if _, err := ds.didChange(a, change("v", "x", 1), terms{}); !errors.Is(err, errNotOpen) {
		t.Errorf("a change of what others have opened: %v", err)
	}
	want("closing what others have opened", ds.didClose(a, closed("v")), "")
	all := ds.all()
	if len(all) != 2 || all[0].text != "xother" || all[0].version != 10 || all[1].text != "two" {
		t.Fatalf("%+v", all)
	}
	if got := string(all[0].opened()); got != `{"textDocument":{"languageId":"x","text":"xother","uri":"u","version":10}}` {
		t.Error(got)
	}
	want("the second closes", ds.didClose(b, closed("u")), "")
	want("the first closes too", ds.didClose(a, closed("u")), "textDocument/didClose "+string(closed("u")))
	want("and again", ds.didClose(a, closed("u")), "textDocument/didClose "+string(closed("u")))
	if left := ds.left(b); len(left) != 1 || tells(left[0]) != "textDocument/didClose "+string(closed("v")) || len(ds.open) != 0 {
		t.Errorf("%v", left)
	}
}

// A host that accepts whole texts alone gets whole texts.
func TestWholeTexts(t *testing.T) {
	ds := documents{open: map[string]*document{}}
	c := new(client)
	ds.didOpen(c, open("u", "one"))
	params := codec.Raw(`{"textDocument":{"uri":"u","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":3},"end":{"line":0,"character":3}},"text":"!"}]}`)
	out, err := ds.didChange(c, params, terms{whole: true})
	if want := "textDocument/didChange " + string(change("u", "one!", 2)); err != nil || tells(out) != want {
		t.Errorf("%s %v, want %s", tells(out), err, want)
	}
}

// Diagnostics go to clients that have the text they are about, under their own version.
func TestDiagnosed(t *testing.T) {
	ds := documents{open: map[string]*document{}}
	a, b, other := new(client), new(client), new(client)
	ds.didOpen(a, open("u", "one"))
	is := func(c *client, version int64, want string) {
		t.Helper()
		p := published{params: codec.Raw(fmt.Sprintf(`{"diagnostics":[],"uri":"u","version":%d}`, version)), version: &version}
		got, ok := ds.diagnosed(c, "u", p)
		if string(got) != want || ok != (want != "") {
			t.Errorf("it is told %s, want %s", got, want)
		}
	}
	const first, second = `{"diagnostics":[],"uri":"u","version":1}`, `{"diagnostics":[],"uri":"u","version":2}`
	is(a, 1, first)
	is(other, 1, first)
	ds.didOpen(b, open("u", "two")) // the host has version 2
	is(b, 2, first)
	is(b, 1, "")
	is(a, 2, "")
	is(other, 2, second)
	if got, ok := ds.diagnosed(a, "u", published{params: codec.Raw(`{}`)}); ok {
		t.Errorf("diagnostics of another text: %s", got)
	}
}

func TestDiagnosticsAreBounded(t *testing.T) {
	ds := diagnostics{last: map[string]published{}}
	big := make(codec.Raw, maxPublishedBytes/2+1)
	ds.keep("a", true, published{params: big})
	ds.keep("b", true, published{params: big})
	if ds.last["a"].params == nil || ds.last["b"].params != nil || len(ds.last) != 2 {
		t.Error("two that are too large together")
	}
	ds.keep("a", false, published{params: codec.Raw("{}")})
	ds.keep("b", true, published{params: big})
	if ds.last["b"].params == nil || ds.bytes != len(big) {
		t.Errorf("%d bytes are counted", ds.bytes)
	}
	for i := range maxPublished + 10 {
		ds.keep(fmt.Sprint(i), true, published{})
	}
	if len(ds.last) != maxPublished {
		t.Errorf("%d documents are kept", len(ds.last))
	}
}

func TestFolders(t *testing.T) {
	d := lsp{}
	for _, test := range []struct {
		a, b string
		same bool
		name string
	}{
		{`{"rootUri":"file:///a"}`, `{"rootPath":"/a"}`, true, "file:///a"},
		{`{"rootUri":"file:///a/"}`, `{"workspaceFolders":[{"uri":"file:///a"}]}`, true, "file:///a"},
		{`{"rootUri":null}`, `{}`, true, "no folder"},
		{`{"workspaceFolders":[{"uri":"b"},{"uri":"a"}]}`, `{"workspaceFolders":[{"uri":"a"},{"uri":"b"}],"rootUri":"c"}`, true, "a, b"},
		{`{"rootUri":"a"}`, `{"rootUri":"b"}`, false, "a"},
		{`3`, `null`, true, "no folder"},
	} {
		if same := d.sameRoots(codec.Raw(test.a), codec.Raw(test.b)); same != test.same || d.roots(codec.Raw(test.a)) != test.name {
			t.Errorf("%s and %s: same %v, %s", test.a, test.b, same, d.roots(codec.Raw(test.a)))
		}
	}
	if got := string(d.opening(codec.Raw(`{"processId":3,"rootUri":null}`))); got != `{"rootUri":null}` {
		t.Error(got)
	}
}

func TestTokens(t *testing.T) {
	h := &Hub{tokens: map[string]token{}}
	a, b := &client{number: 1}, &client{number: 2}
	var names []string
	one := h.rename(a, codec.Raw(`{"x":1,"_meta":{"progressToken":5,"y":2}}`), &names, "_meta", "progressToken")
	two := h.rename(b, codec.Raw(`{"_meta":{"progressToken":"5"}}`), &names, "_meta", "progressToken")
	if len(names) != 2 || names[0] == names[1] || !strings.Contains(string(one), names[0]) || !strings.Contains(string(two), names[1]) || !strings.Contains(string(one), `"y":2`) {
		t.Fatalf("%s %s %v", one, two, names)
	}
	for i, c := range []*client{a, b} {
		to, params := h.owner(codec.Raw(fmt.Sprintf(`{"progressToken":%q,"progress":1}`, names[i])), "progressToken")
		if to != c || !strings.Contains(string(params), [...]string{`"progressToken":5`, `"progressToken":"5"`}[i]) {
			t.Errorf("%s", params)
		}
	}
	h.forget(names)
	if to, _ := h.owner(codec.Raw(fmt.Sprintf(`{"progressToken":%q}`, names[0])), "progressToken"); to != nil || len(h.tokens) != 0 {
		t.Error("a token outlives its request")
	}
	for _, raw := range []string{`{}`, `[]`, `null`, ``, `{"_meta":null}`, `{"_meta":{"progressToken":null}}`, `{"progressToken":1}`} {
		if got := h.rename(a, codec.Raw(raw), &names, "_meta", "progressToken"); string(got) != raw && len(h.tokens) != 0 {
			t.Errorf("%s became %s", raw, got)
		}
	}
}
