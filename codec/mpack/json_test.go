package mpack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestToJSON(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want string
	}{
		{"nothing is nil", "", `null`},
		{"nil", "c0", `null`},
		{"booleans", "92 c2 c3", `[false,true]`},
		{"integers are exact", "93 cf ffffffffffffffff d3 8000000000000000 7f", `[18446744073709551615,-9223372036854775808,127]`},
		{"floats stay floats", "95 cb 3ff0000000000000 ca 3dcccccd cb 8000000000000000 cb 4480f0cf064dd592 cb 3e7ad7f29abcaf48", `[1.0,0.1,-0.0,1e+22,1e-07]`},
		{"numbers JSON does not know", "93 cb 7ff8000000000000 cb 7ff0000000000000 ca ff800000", `["NaN","Infinity","-Infinity"]`},
		{"string", "a9 22 5c 0a 0d 09 01 7f c3a9", `"\"\\\n\r\t\u0001\u007fé"`},
		{"string that is not UTF-8", "a3 61 ff 62", `"a` + "\ufffd" + `b"`},
		{"bin", "c4 03 616263", `"YWJj"`},
		{"timestamp", "d6 ff 00000001", `"1970-01-01T00:00:01Z"`},
		{"timestamp with nanoseconds", "d7 ff 00000004 00000001", `"1970-01-01T00:00:01.000000001Z"`},
		{"timestamp that is none", "c7 03 ff 616263", `{"$ext":-1,"data":"YWJj"}`},
		{"timestamp out of the calendar", "c7 0c ff 00000000 7fffffffffffffff", `{"$ext":-1,"data":"AAAAAH//////////"}`},
		{"extension", "d4 05 61", `{"$ext":5,"data":"YQ=="}`},
		{"map keeps its order", "83 a1 62 01 a1 61 02 a1 62 03", `{"b":1,"a":2,"b":3}`},
		{"scalar keys", "85 01 c0 c3 c0 c0 c0 cb 3ff8000000000000 c0 c4 01 61 c0", `{"1":null,"true":null,"null":null,"1.5":null,"YQ==":null}`},
		{"NaN as a key", "81 cb 7ff8000000000000 c0", `{"NaN":null}`},
		{"composite key", "81 92 01 a1 61 c0", `{"[1,\"a\"]":null}`},
		{"composite key in a key", "81 81 91 01 02 c0", `{"{\"kQE=\":2}":null}`},
		{"nested", "91 81 a1 6b 91 80", `[{"k":[{}]}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := enc.ToJSON(unhex(t, tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !json.Valid(got) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
	if _, err := enc.ToJSON(codec.Raw("\x92\x01")); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("bad bytes: %v", err)
	}
}

// A map as the key of a map as the key of a map…: quoting each level would
// double the output every time.
func TestToJSONOfNestedKeysStaysSmall(t *testing.T) {
	raw := append(bytes.Repeat([]byte{0x81}, 127), 0xc0)
	raw = append(raw, bytes.Repeat([]byte{0xc0}, 127)...)
	got, err := enc.ToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(got) || len(got) > 10*len(raw) {
		t.Errorf("%d bytes became %d: %.200s", len(raw), len(got), got)
	}
}

func TestFromJSON(t *testing.T) {
	ints := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	tests := []struct {
		name string
		in   string
		want string
	}{
		{"nothing is nil", " ", "c0"},
		{"null", "null", "c0"},
		{"integers", `[1,-1,18446744073709551615,-9223372036854775808,-0]`, "95 01 ff cf ffffffffffffffff d3 8000000000000000 00"},
		{"floats", `[1.0,1e2]`, "92 cb 3ff0000000000000 cb 4059000000000000"},
		{"integer over 64 bits", `18446744073709551616`, "cb 43f0000000000000"},
		{"string", `"a\u00e9\ud83d\ude00"`, "a7 61 c3a9 f09f9880"},
		{"half a surrogate", `"\ud83d"`, "a3 efbfbd"},
		{"object keeps order and duplicates", `{"b":1,"a":{},"b":[]}`, "83 a1 62 01 a1 61 80 a1 62 90"},
		{"16 elements", ints(16), "dc 0010" + strings.Repeat("01", 16)},
		{"16 elements around 16 elements", "[" + strings.Repeat("1,", 15) + ints(16) + "]", "dc 0010" + strings.Repeat("01", 15) + "dc 0010" + strings.Repeat("01", 16)},
		{"65536 elements", ints(65536), "dd 00010000" + strings.Repeat("01", 65536)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := enc.FromJSON([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if want := unhex(t, tt.want); !bytes.Equal(got, want) {
				t.Errorf("got %.200x, want %.200x", got, want)
			}
		})
	}
}

func TestFromJSONErrors(t *testing.T) {
	for name, in := range map[string]string{
		"cut":              `[1,`,
		"cut in a string":  `"abc`,
		"two values":       `1 2`,
		"a bracket more":   `[1]]`,
		"a word":           `hello`,
		"a comma more":     `[1,]`,
		"a key alone":      `{"a"}`,
		"a number for key": `{1:2}`,
		"too deep":         strings.Repeat("[", 129) + strings.Repeat("]", 129),
		"over any float":   `1e999`,
	} {
		if got, err := enc.FromJSON([]byte(in)); err == nil {
			t.Errorf("%s: became %x", name, got)
		}
	}
}
