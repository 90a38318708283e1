package attach

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

// The host sees a document once, from the first opening to the last closing,
// with the text of its owner.
func TestDocuments(t *testing.T) {
	ds := documents{open: map[string]*document{}}
	a, b := new(client), new(client)
	if !ds.didOpen(a, open("u", "one")) || ds.didOpen(b, open("u", "other")) || ds.didOpen(a, open("u", "again")) || !ds.didOpen(b, open("v", "two")) {
		t.Error("the host was told of something else than two documents")
	}
	if owner, err := ds.didChange(b, change("u", "stolen", 2), ""); owner != a || err != nil {
		t.Errorf("a change by another client: %v", err)
	}
	if owner, err := ds.didChange(a, change("u", "three", 2), ""); owner != a || err != nil {
		t.Errorf("a change by the owner: %v", err)
	}
	if _, err := ds.didChange(a, codec.Raw(`[]`), ""); err == nil {
		t.Error("a change that is none was taken")
	}
	if owner, err := ds.didChange(a, change("unknown", "x", 1), ""); owner != a || err != nil {
		t.Error("a document that the hub does not know is the host's to judge")
	}
	all := ds.all()
	if len(all) != 2 || all[0].text != "three" || all[0].version != 2 || all[1].text != "two" {
		t.Fatalf("%+v", all)
	}
	if got := string(all[0].opened()); got != `{"textDocument":{"languageId":"x","text":"three","uri":"u","version":2}}` {
		t.Error(got)
	}
	if left := ds.left(a); len(left) != 0 || ds.open["u"].clients[0] != b {
		t.Errorf("%v is closed for the host when its owner leaves", left)
	}
	if ds.didClose(a, closed("u")) || !ds.didClose(b, closed("u")) || !ds.didClose(b, closed("u")) {
		t.Error("closing")
	}
	if left := ds.left(b); len(left) != 1 || left[0] != "v" || len(ds.open) != 0 {
		t.Errorf("%v", left)
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
