package language

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestScore(t *testing.T) {
	d := document{uri: workbench.File("/w/src/a.ts"), language: "typescript"}
	for text, want := range map[string]int{
		`[{"language":"typescript"}]`: 10, `[{"language":"*"}]`: 5, `[{"language":"go"}]`: 0, `[]`: 0, `[{}]`: 0,
		`[{"scheme":"file"}]`: 10, `[{"scheme":"untitled","language":"typescript"}]`: 0, `[{"scheme":"*","language":"*"}]`: 5,
		`[{"language":"go"},{"language":"typescript"}]`: 10, `[{"pattern":"**/*.ts"}]`: 10, `[{"pattern":"**/*.js"}]`: 0,
		`[{"pattern":"/w/src/a.ts"}]`: 10, `[{"pattern":{"base":"/w","pattern":"src/*.ts"}}]`: 10, `[{"pattern":{"base":"/v","pattern":"**"}}]`: 0,
		`[{"pattern":{"baseUri":{"scheme":"file","path":"/w/src"},"pattern":"*.ts"}}]`: 10, `[{"language":"*","pattern":"**/*.ts"}]`: 10,
		`[{"notebookType":"jupyter"}]`: 0, `[{"language":"typescript","notebookType":"*"}]`: 0, `[{"language":"typescript","pattern":{"$undefined":true}}]`: 10,
	} {
		s, err := parseSelector(json.RawMessage(text))
		if err != nil || s.score(d) != want {
			t.Errorf("%s: %d, %v, want %d", text, s.score(d), err, want)
		}
	}
	for _, wrong := range []string{``, `7`, `{"language":"x"}`, `[{"pattern":7}]`, `[{"pattern":"[a"}]`} {
		if s, err := parseSelector(json.RawMessage(wrong)); err == nil && s.score(d) > 0 {
			t.Errorf("%s was taken", wrong)
		}
	}
}

func TestIncludes(t *testing.T) {
	for _, c := range []struct {
		kind, other string
		want        bool
	}{{"", "a", true}, {"a", "a", true}, {"a", "a.b", true}, {"a", "ab", false}, {"a.b", "a", false}} {
		if includes(c.kind, c.other) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestProvidersByFit(t *testing.T) {
	var r registry
	add := func(handle int, selector string) {
		p := &provider{host: "h", handle: handle, kind: "k", text: selector}
		var err error
		if p.selector, err = parseSelector(json.RawMessage(selector)); err != nil {
			t.Fatal(err)
		}
		if err := r.add(p); err != nil {
			t.Fatal(err)
		}
	}
	d := document{uri: workbench.File("/a"), language: "x"}
	order := func() (out []int) {
		for _, p := range r.list {
			if s := p.selector.score(d); s > 0 {
				out = append(out, p.handle)
			}
		}
		return out
	}
	add(1, `[{"language":"x"}]`)
	add(2, `[{"language":"*"}]`)
	add(3, `[{"language":"y"}]`)
	add(1, `[{"language":"y"}]`) // in the place of the first
	if got := order(); !slices.Equal(got, []int{2}) {
		t.Error(got)
	}
	if !r.remove(func(p *provider) bool { return p.handle == 2 }) || r.remove(func(p *provider) bool { return p.handle == 2 }) {
		t.Error("removed not once")
	}
}

func rawItems(texts ...string) (out []item) {
	for i, text := range texts {
		out = append(out, item{rank: i, raw: json.RawMessage(text)})
	}
	return out
}

// lines is a document with empty lines.
func lines(n int) document {
	return document{text: func() *text.Text { return text.New(strings.Repeat("\n", n-1), text.LF) }}
}

func TestMerge(t *testing.T) {
	at := func(l1, c1, l2, c2 int) string {
		raw, _ := json.Marshal(Range{Position{l1, c1}, Position{l2, c2}}.wire())
		return string(raw)
	}
	ranged := func(l1, c1, l2, c2 int) string { return `{"range":` + at(l1, c1, l2, c2) + `}` }
	for _, c := range []struct {
		q    Query
		in   []item
		want string
	}{
		{Query{Feature: FeatureLinks}, rawItems(ranged(0, 3, 0, 5), ranged(0, 0, 0, 4), ranged(0, 4, 0, 6)), "[" + ranged(0, 0, 0, 4) + "," + ranged(0, 4, 0, 6) + "]"},
		{Query{Feature: FeatureHover}, rawItems(`{"a":2}`, `{"a":1}`), `[{"a":2},{"a":1}]`},
		{
			Query{Feature: FeatureFolding}, rawItems(`{"start":1,"end":9}`, `{"start":2,"end":4}`, `{"start":1,"end":5}`, `{"start":3,"end":6}`, `{"start":5,"end":6}`),
			`[{"start":1,"end":9},{"start":2,"end":4},{"start":5,"end":6}]`,
		},
		{Query{Feature: FeatureSelections}, rawItems("[["+at(0, 0, 0, 9)+"]]", "[["+at(0, 2, 0, 4)+","+at(0, 1, 0, 12)+","+at(0, 0, 1, 0)+"]]"), "[[" + at(0, 2, 0, 4) + "," + at(0, 1, 0, 12) + "," + at(0, 0, 1, 0) + "]]"},
		{
			Query{Feature: FeatureActions, Kind: "refactor"}, rawItems(`{"kind":"quickfix"}`, `{"kind":"refactor","disabled":"no"}`, `{"kind":"refactor.x"}`, `{"kind":"refactor","isPreferred":true}`, `{}`),
			`[{"kind":"refactor","isPreferred":true},{"kind":"refactor.x"}]`,
		},
		{
			Query{Feature: FeatureCompletion}, rawItems(`{"label":"b","kind":1}`, `{"label":{"label":"a"},"kind":2,"sortText":"X"}`, `{"label":"c","kind":1,"sortText":"a"}`),
			`[{"label":{"label":"a"},"kind":2,"sortText":"X"},{"label":"b","kind":1},{"label":"c","kind":1,"sortText":"a"}]`,
		},
		{
			Query{Feature: FeatureWorkspaceSymbol}, rawItems(`{"name":"a","kind":4}`, `{"name":"a","kind":4,"x":1}`, `{"name":"a","kind":5}`),
			`[{"name":"a","kind":4},{"name":"a","kind":5}]`,
		},
	} {
		out, err := merge(&c.q, lines(20), c.in)
		if got, _ := json.Marshal(rawOf(out)); string(got) != c.want || err != nil {
			t.Errorf("%s: %s, %v\nwant %s", c.q.Feature, got, err, c.want)
		}
	}
}

func TestSuggestion(t *testing.T) {
	got, err := suggestion(json.RawMessage(`{"x":[1,2],"a":{"label":"f"},"b":0,"k":".;","n":"d/1","o":"d","p":[3]}`), json.RawMessage(`{"insert":1}`))
	want := `{"_id":[1,2],"command":{"$ident":"d/1","arguments":["d/1"],"id":"d","title":""},"commitCharacters":[".",";"],"insertText":"f","kind":0,"label":{"label":"f"},"range":{"insert":1}}`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got := string(foreign(got)); got != `{"_id":[1,2],"command":{"arguments":["d/1"],"id":"d","title":""},"commitCharacters":[".",";"],"insertText":"f","kind":0,"label":{"label":"f"},"range":{"insert":1}}` {
		t.Error(got)
	}
	for _, wrong := range []string{`7`, `{"a":7}`} {
		if _, err := suggestion(json.RawMessage(wrong), nil); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}

func TestTypesReadBothForms(t *testing.T) {
	var r Range
	for _, text := range []string{`{"startLineNumber":1,"startColumn":2,"endLineNumber":3,"endColumn":4}`, `{"start":{"line":0,"character":1},"end":{"line":2,"character":3}}`} {
		if err := json.Unmarshal([]byte(text), &r); err != nil || r != (Range{Position{0, 1}, Position{2, 3}}) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	var u URI
	var m Markdown
	var k SymbolKind
	for _, text := range []string{`{"$mid":1,"scheme":"file","path":"/a b"}`, `"file:///a%20b"`} {
		if err := json.Unmarshal([]byte(text), &u); err != nil || u != "file:///a%20b" {
			t.Errorf("%q, %v", u, err)
		}
	}
	for _, text := range []string{`{"value":"x"}`, `"x"`} {
		if err := json.Unmarshal([]byte(text), &m); err != nil || m != "x" {
			t.Errorf("%q, %v", m, err)
		}
	}
	for text, want := range map[string]SymbolKind{`4`: "class", `"class"`: "class", `99`: "", `-1`: ""} {
		if err := json.Unmarshal([]byte(text), &k); err != nil || k != want {
			t.Errorf("%s: %q, %v", text, k, err)
		}
	}
}

// What hosts send must not make the program panic.
func FuzzParse(f *testing.F) {
	f.Add("hover", `{"contents":[{"value":"x"}],"id":1}`)
	f.Add("completion", `{"x":1,"a":{},"b":[{"a":"x"}]}`)
	f.Add("tokens", `{"$buffer":"AQAAAAEAAAAFAAAAAAAAAAEAAAABAAAAAAAAAAAAAAA="}`)
	f.Add("calls", `[{"_sessionId":"a"}]`)
	f.Fuzz(func(t *testing.T, name, text string) {
		feature, known := features[Feature(name)]
		if !known || !json.Valid([]byte(text)) {
			return
		}
		items, _, err := feature.parse(json.RawMessage(text))
		if err != nil {
			return
		}
		for i := range items {
			items[i].p.provider = &provider{rest: []json.RawMessage{nil, json.RawMessage(`{"tokenTypes":["a"],"tokenModifiers":["b"]}`)}}
		}
		q := Query{Feature: Feature(name)}
		if items, err = merge(&q, lines(20), items); err == nil {
			_, _ = decoders[q.Feature](items)
		}
	})
}
