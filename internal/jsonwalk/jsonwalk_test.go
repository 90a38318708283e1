package jsonwalk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestCheckReportsOffset(t *testing.T) {
	for text, want := range map[string]string{
		``:              "offset 0: a value expected",
		`{"a":1,}`:      "offset 7: a name in quotes expected",
		`{"a" 1}`:       "offset 5: ':' expected",
		`[1 2]`:         "offset 3: ',' or ']' expected",
		`{"a":tru}`:     "offset 5: true expected",
		`"a`:            "offset 2: the end of a string expected",
		"\"\x01\"":      "offset 1: an escape for a control character expected",
		`"\x"`:          "offset 2: an escape expected",
		`"\u12G4"`:      "offset 5: a hexadecimal digit expected",
		`01`:            "offset 1: end of text expected",
		`1.`:            "offset 2: a digit expected",
		`1e+`:           "offset 3: a digit expected",
		`-`:             "offset 1: a digit expected",
		`{"a":1 "b":2}`: "offset 7: ',' or '}' expected",
	} {
		err := Check([]byte(text), nil)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	if err := Check([]byte(deep), nil); !errors.Is(err, ErrDepth) {
		t.Errorf("%d arrays: %v", MaxDepth+1, err)
	}
	if err := Check([]byte(deep[1:len(deep)-1]), nil); err != nil {
		t.Errorf("%d arrays: %v", MaxDepth, err)
	}
}

func TestFind(t *testing.T) {
	text := []byte(` {"a": {"b\n": [1, {"c" : "x\"]}y"}, null]}, "A": 2, "a.b": 3, "d":1, "d":{"e":true}} `)
	for path, want := range map[string]string{
		"A":         `2`,
		"a.b\n.0":   `1`,
		"a.b\n.1.c": `"x\"]}y"`,
		"a.b\n.2":   `null`,
		"a.b\n.3":   ``,
		"a.b\n.-1":  ``,
		"a.b\n.x":   ``,
		"d.e":       `true`, // the last of two
		"d.e.f":     ``,
		"none":      ``,
	} {
		if got := string(Find(text, path)); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func TestStrings(t *testing.T) {
	for list, want := range map[string]string{
		`[ {"a":"1","b":{"a":"no"}} , {}, {"b":1,"a":"2"}, null, "a", [{"a":"no"}], {"a":3}, {"\u0061":"4\n"} ]`: "1|2|4\n|",
		`{"a":"1"}`: "1|", `[]`: "", `"a"`: "", ``: "", `[{"a":"1"`: "1|",
	} {
		got := ""
		Strings([]byte(list), "a", func(text string) { got += text + "|" })
		if got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9",true,null]}`, `[[],{}]`, `"\ud800"`, ` 0 `, `{"a":{"a":"%b%"}}`, `[1,]`, "{\"\x92\xa6\":{}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data, nil)
		if errors.Is(err, ErrDepth) {
			return
		}
		if ok := json.Valid(data); ok != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", data, err, ok)
		}
		// Functions for checked texts must not panic on others either.
		Find(data, "a.0.b")
		Strings(data, "a", func(string) {})
		if err != nil || KindOf(data) != Map {
			return
		}
		want := map[string]json.RawMessage{}
		if json.Unmarshal(data, &want) != nil {
			t.Fatalf("%q", data)
		}
		got := map[string]string{}
		Object(data, func(name string, value []byte) bool {
			got[name] = string(value)
			return true
		})
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", data, len(got), len(want))
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Fatalf("%q: %q is %s, want %s", data, name, got[name], value)
			}
		}
	})
}
