package vscode

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

const plenty = 1 << 20

func TestFromWire(t *testing.T) {
	refs := [][]byte{[]byte("hello"), nil}
	for _, tc := range []struct{ wire, plain, object string }{
		{`{"a":[1,"$buffer",{"b":null}]}`, ``, ``},
		{`{"$buffer":1}`, `{"$$buffer":1}`, `{"$$buffer":1}`},
		{`{ "$$buffer" : {"$undefined":[{"$$$object":1}]} }`, `{ "$$$buffer":{"$$undefined":[{"$$$$object":1}]} }`, `{ "$$$buffer":{"$$undefined":[{"$$$$object":1}]} }`},
		{`{"\u0024token":true,"x":"\u0024token"}`, `{"$$token":true,"x":"\u0024token"}`, `{"$$token":true,"x":"\u0024token"}`},
		{`[{"$$ref$$":0},{"$$ref$$":1}]`, ``, `[{"$buffer":"aGVsbG8="},{"$buffer":""}]`},
		{`{"a":{"$$ref$$":-1},"b":{ "$$ref$$" : 2 }}`, ``, `{"a":{"$undefined":true},"b":{ "$undefined":true }}`},
		{`{"$$ref$$":1.5}`, ``, `{"$undefined":true}`},
		{`[{"$$ref$$":"0"},{"$$ref$$":null},{"$$ref$$":0,"a":1},{"a":1,"$$ref$$":0}]`, ``, ``},
	} {
		for _, with := range []bool{false, true} {
			want := tc.plain
			if with {
				want = tc.object
			}
			if want == "" {
				want = tc.wire
			}
			got, err := fromWire([]byte("x"), []byte(tc.wire), refs, with, plenty)
			if err != nil || string(got) != "x"+want {
				t.Errorf("%s, references %v: %s, %v", tc.wire, with, got, err)
			}
		}
	}
	big := [][]byte{make([]byte, 1000)}
	wire := []byte("[" + strings.Repeat(`{"$$ref$$":0},`, 1000) + "1]")
	if got, err := fromWire(nil, wire, big, true, 20000); !errors.Is(err, codec.ErrTooLarge) || len(got) > 20000 {
		t.Errorf("%d, %v", len(got), err)
	}
	if _, err := fromWire(nil, wire, nil, false, 2000); !errors.Is(err, codec.ErrTooLarge) {
		t.Error(err)
	}
}

func TestToWire(t *testing.T) {
	for _, tc := range []struct {
		text, wire string
		refs       []string
	}{
		{`{"a":[1,"$buffer"]}`, `{"a":[1,"$buffer"]}`, nil},
		{`[{"$buffer":"aGVsbG8="},{ "$undefined" : true },{"a":{"$buffer":"\u0061A=="}}]`, `[{"$$ref$$":0},{ "$$ref$$":-1 },{"a":{"$$ref$$":1}}]`, []string{"hello", "h"}},
		{`{"$$buffer":1,"$$$object":2,"$other":3}`, `{"$buffer":1,"$$object":2,"$other":3}`, nil},
	} {
		var refs [][]byte
		got, err := toWire(nil, []byte(tc.text), &refs)
		if err != nil || string(got) != tc.wire || len(refs) != len(tc.refs) {
			t.Errorf("%s: %s, %q, %v", tc.text, got, refs, err)
			continue
		}
		for i, r := range refs {
			if string(r) != tc.refs[i] {
				t.Errorf("%s: %q", tc.text, r)
			}
		}
	}
	for text, want := range map[string]string{
		`{"$buffer":"aGVsbG8=","a":1}`:       `"$buffer" is not the only key`,
		`{"a":1,"$buffer":"aGVsbG8="}`:       `"$buffer" is not the only key`,
		`{"$buffer":1}`:                      `a string of base64 expected`,
		`{"$buffer":"a"}`:                    `illegal base64`,
		`{"$buffer":"aGVsbG9="}`:             `illegal base64`,
		`{"$undefined":false}`:               `true expected`,
		`{"a":{"$object":1}}`:                `cannot be here`,
		`{"a":{"$token":true}}`:              `cannot be here`,
		`{"$$ref$$":1}`:                      `would be taken for a reference`,
		`{"\u0024\u0024ref\u0024\u0024":-1}`: `would be taken for a reference`,
	} {
		var refs [][]byte
		if got, err := toWire([]byte("x"), []byte(text), &refs); !errors.Is(err, codec.ErrShape) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"$buffer":""}`, `[{"$undefined":true}]`} {
		if _, err := toWire(nil, []byte(text), nil); !errors.Is(err, codec.ErrShape) || !strings.Contains(err.Error(), "within {\"$object\": …}") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, err := toWire(nil, []byte(`{"$$ref$$":1}`), nil); err != nil || string(got) != `{"$$ref$$":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

// loose is what a text means; numbers stay as they are written, as some are
// beyond what Go can hold.
func loose(t *testing.T, text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Whatever the host's data are, they come back as they were.
func FuzzMarks(f *testing.F) {
	for _, s := range []string{
		`{"$buffer":1}`, `{"$$buffer":{"$undefined":[{"$$$object":1}]}}`, `[{"$$ref$$":0},{"$$ref$$":-1},{"$$ref$$":"x"}]`,
		`{"\u0024token":true}`, ` [ 1 , { "a\"b" : "$" } ] `, `"$buffer"`, `1e5`, `1e999`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, wire []byte, with bool) {
		if check(wire, codec.Limits{}.WithDefaults()) != nil {
			return
		}
		refs := [][]byte{[]byte("a buffer"), {}}
		text, err := fromWire(nil, wire, refs, with, plenty)
		if err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		if err := check(text, codec.Limits{}.WithDefaults()); err != nil {
			t.Fatalf("%s became %s: %v", wire, text, err)
		}
		var back []byte
		var again [][]byte
		if with {
			back, err = toWire(nil, text, &again)
			if err != nil && bytes.Contains(wire, []byte("ref")) || errors.Is(err, codec.ErrShape) && strings.Contains(err.Error(), keyRef) {
				return // what no stringify writes: a reference among other keys
			}
		} else {
			back, err = toWire(nil, text, nil)
		}
		if err != nil {
			t.Fatalf("%s became %s: %v", wire, text, err)
		}
		if with && bytes.Contains(wire, []byte("ref")) {
			return // the numbers of references need not be the same
		}
		want, got := loose(t, wire), loose(t, back)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s became %s became %s", wire, text, back)
		}
	})
}
