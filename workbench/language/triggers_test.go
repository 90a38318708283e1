package language

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// registrations are providers that have registered with these arguments after the handle.
func registrations(t *testing.T, calls ...string) (out []*provider) {
	t.Helper()
	for _, call := range calls {
		name, args, _ := strings.Cut(call, " ")
		p := &provider{kind: features[Feature(name)].register}
		if err := json.Unmarshal([]byte(args), &p.rest); err != nil || p.kind == "" {
			t.Fatal(name, err)
		}
		out = append(out, p)
	}
	return out
}

func TestTriggersAreThoseOfAllProviders(t *testing.T) {
	all := registrations(t, `completion [[],["b","."],true]`, `completion [[],["."],true]`, `signature [[],{"triggerCharacters":["("],"retriggerCharacters":[","]}]`,
		`format-on-type [[],[";"]]`, `hover [[],["no"]]`, `completion [[]]`)
	if got, want := fmt.Sprint(triggersOf(all)), "{[. b] [(] [,] [;]}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !all[0].hasTrigger("b") || all[1].hasTrigger("b") {
		t.Error("a provider is asked for the character of another one")
	}
}

// Both releases say with whose inline completions those of a provider are not shown.
func TestInlineCompletionsYield(t *testing.T) {
	all := registrations(t, `inline-completion [[],true,"acme.a",["acme.b"],"A",50,null]`, `inline-completion [[],true,"acme.b","1.0.0",null,[],"B",50]`,
		`inline-completion [[],true,"acme.c","1.0.0","group",["acme.b","none"],"C",50]`, `inline-completion [[],false,"acme.d",[],null]`)
	for i, want := range []string{"acme.a [acme.b]", "acme.b []", "group [acme.b none]", "acme.d []"} {
		if group, to := all[i].yields(); fmt.Sprint(group, " ", to) != want {
			t.Errorf("%s %v, want %s", group, to, want)
		}
	}
	shown := func(which ...int) string {
		var items []item
		for _, i := range which {
			items = append(items, item{p: scored{provider: all[i]}, raw: json.RawMessage(fmt.Sprintf(`{"insertText":"%d"}`, i))})
		}
		items = append(items, item{p: scored{provider: all[3]}, raw: json.RawMessage(`{"insertText":"far","isInlineEdit":true}`)}, item{p: scored{provider: all[3]}, raw: json.RawMessage(`{"idx":1}`)})
		items, err := mergeInline(items)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, it := range items {
			out += string(it.raw)
		}
		return out
	}
	if got := shown(0, 1, 2, 3); got != `{"insertText":"1"}{"insertText":"3"}` {
		t.Error(got)
	}
	if got := shown(0, 2); got != `{"insertText":"0"}{"insertText":"2"}` {
		t.Error(got)
	}
}

func TestInlineCompletionIsReadAgain(t *testing.T) {
	for _, text := range []string{`{"insertText":"a"}`, `{"insertText":{"snippet":"a($1)"},"filterText":"f"}`} {
		var first, again InlineCompletion
		if err := json.Unmarshal([]byte(text), &first); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(first) || again.Snippet != strings.Contains(text, "snippet") {
			t.Errorf("%s: %+v %v", raw, again, err)
		}
	}
}
