package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`not-json`:                        "expected ident at line 1 column 2",
		`{"id":5}`:                        "missing field `error`",
		`{"foo":1}`:                       "missing field `error`",
		`42`:                              "expected a JSON-RPC object",
		``:                                "EOF while parsing a value at line 1 column 0",
		`{"id":6,"method":5}`:             "invalid type: number, expected a string",
		"\x00\x01\xff":                    "expected value at line 1 column 1",
		`[]`:                              "expected a JSON-RPC object",
		`[{"id":1,"method":"x"}]`:         "expected a JSON-RPC object",
		"{\"id\":1,\"method\":\"x\"}\n{":  "trailing characters at line 2 column 1",
		`{"id":1.5,"method":"x"}`:         "data did not match any variant of untagged enum RequestId",
		`{"id":null,"method":"x"}`:        "data did not match any variant of untagged enum RequestId",
		`{"id":true,"method":"x"}`:        "data did not match any variant of untagged enum RequestId",
		`{"id":1`:                         "EOF while parsing an object at line 1 column 7",
		`{"id":1,}`:                       "trailing comma at line 1 column 9",
		`{id:1}`:                          "key must be a string at line 1 column 2",
		`{"a" 1}`:                         "expected `:` at line 1 column 6",
		`{"a":[1 2]}`:                     "expected `,` or `]` at line 1 column 9",
		`{"a":"` + "\xff" + `"}`:          "invalid unicode code point at line 1 column 8",
		`{"id":2,"id" 3`:                  "duplicate JSON object key `id` at line 1 column 13",
		`{"a":[{"b":1,"\u0062":2}]}`:      "duplicate JSON object key `b` at line 1 column 21",
		manyKeys(40) + `,"k7":1}`:         "duplicate JSON object key `k7` at line 1 column 315",
		`{"id":1,"error":{"message":""}}`: "missing field `code`",
		`{"a":"\x"}`:                      "invalid escape at line 1 column 8",
		`{"a":01}`:                        "invalid number at line 1 column 7",
		strings.Repeat("[", 200):          "recursion limit exceeded at line 1 column 128",
	} {
		_, err := Decode([]byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("Decode(%.40q) = %v, want %s", in, err, want)
		}
	}
}

// manyKeys is an object of n keys that goes on.
func manyKeys(n int) string {
	out := `{"k0":0`
	for i := 1; i < n; i++ {
		out += fmt.Sprintf(`,"k%d":0`, i)
	}
	return out
}

func TestDecodeKinds(t *testing.T) {
	for in, want := range map[string]Message{
		`{"id":1,"method":"a","params":{"x":1}}`:              {Kind: KindRequest, ID: IntID(1), Method: "a", Params: []byte(`{"x":1}`)},
		` {"jsonrpc":"2.0","id":"z","method":"a"} `:           {Kind: KindRequest, ID: TextID("z"), Method: "a"},
		`{"id":-5,"m\u0065thod":"\u0061","trace":null}`:       {Kind: KindRequest, ID: IntID(-5), Method: "a"},
		`{"method":"a","trace":{"traceparent":"00"}}`:         {Kind: KindNotification, Method: "a"},
		`{"id":9223372036854775807,"result":{}}`:              {Kind: KindResult, ID: IntID(1<<63 - 1), Result: []byte(`{}`)},
		`{"id":3,"error":{"code":-1,"message":"x","data":1}}`: {Kind: KindError, ID: IntID(3)},
	} {
		m, err := Decode([]byte(in))
		if err != nil {
			t.Errorf("Decode(%s): %v", in, err)
			continue
		}
		if m.Kind != want.Kind || m.ID != want.ID || m.Method != want.Method || string(m.Params) != string(want.Params) || string(m.Result) != string(want.Result) {
			t.Errorf("Decode(%s) = %+v", in, m)
		}
		if m.Kind == KindError && (m.Err.Code != -1 || m.Err.Message != "x") {
			t.Errorf("error is %+v", m.Err)
		}
	}
}

func TestDecodeParamsSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		p    any
		in   string
		want string
	}{
		{&ProcessStartParams{}, `{}`, "missing field `processId`"},
		{&ProcessStartParams{}, `{"processId":"e","argv":"str"}`, `invalid type: string "str", expected a sequence`},
		{&ProcessStartParams{}, `{"processId":"e","argv":[],"cwd":"/tmp"}`, "invalid URI: relative URL without a base"},
		{&ProcessStartParams{}, `{"processId":"e","argv":[],"cwd":"http://x/y"}`, "unsupported path URI scheme `http`"},
		{&ProcessStartParams{}, `{"processId":"e","argv":["a"],"cwd":"file:///","env":{}}`, "missing field `tty`"},
		{&ProcessReadParams{}, `{"processId":"n","afterSeq":-1}`, "invalid number"},
		{&ProcessReadParams{}, `{"processId":"n","waitMs":"x"}`, `invalid type: string "x", expected u64`},
		{&ProcessReadParams{}, `{"processId":"n","maxBytes":"x"}`, `invalid type: string "x", expected usize`},
		{&ProcessWriteParams{}, `{"processId":"n","chunk":"!!","writeId":"a"}`, "Invalid symbol 33, offset 0."},
		{&ProcessSignalParams{}, `{"processId":"n","signal":"kill"}`, "unknown variant `kill`, expected `interrupt`"},
		{&FSOpenParams{}, `{"handleId":"w","path":"file:///x","mode":"write"}`, "unknown variant `write`, expected `read` or `replace`"},
		{&InitializeParams{}, ``, "invalid type: null, expected struct InitializeParams"},
		{&InitializeParams{}, `{"clientName":5}`, "invalid type: number, expected a string"},
		{&FSWalkParams{}, `{"path":"file:///","options":{"maxDepth":1}}`, "missing field `maxDirectories`"},
		{&ProcessStartParams{}, `{"processId":"e","sandbox":{"permissions":{"type":"x"}}}`, "unknown variant `x`, expected one of `managed`, `disabled`, `external`"},
		{&ProcessStartParams{}, `{"processId":"e","sandbox":{"permissions":{}}}`, "missing field `type`"},
		{nil, `{"zzz":1}`, "invalid type: map, expected unit"},
	} {
		var raw []byte
		if c.in != "" {
			raw = []byte(c.in)
		}
		err := DecodeParams(raw, c.p, false)
		if err == nil || err.Message != c.want || err.Code != CodeInvalidParams {
			t.Errorf("%T %s: %v, want %s", c.p, c.in, err, c.want)
		}
	}
	for _, in := range []string{"", "null", "{}", " { } "} {
		var raw []byte
		if in != "" {
			raw = []byte(in)
		}
		if err := DecodeParams(raw, nil, false); err != nil && in != " { } " {
			t.Errorf("no params %q: %v", in, err)
		}
	}
}

func TestExtensionMembersAreNotThereForOldClients(t *testing.T) {
	in := []byte(`{"processId":"p","graceMs":"nonsense"}`)
	var p ProcessTerminateParams
	if err := DecodeParams(in, &p, false); err != nil || p.GraceMs != nil {
		t.Errorf("%v, %+v", err, p)
	}
	if err := DecodeParams(in, &p, true); err == nil {
		t.Error("nonsense was taken")
	}
}

func TestURI(t *testing.T) {
	for in, want := range map[string][2]string{
		"file:///tmp/a%20b":           {"file:///tmp/a%20b", "/tmp/a b"},
		"file:///x/sub/../a.txt":      {"file:///x/a.txt", "/x/a.txt"},
		"file:///x/%2e%2e/../a":       {"file:///a", "/a"},
		"file:relative":               {"file:///relative", "/relative"},
		"FILE://localhost/tmp/x":      {"file:///tmp/x", "/tmp/x"},
		"file:///":                    {"file:///", "/"},
		"file:///tmp/":                {"file:///tmp/", "/tmp"},
		"file:///sp ace é":            {"file:///sp%20ace%20%C3%A9", "/sp ace é"},
		"file:///a%FF":                {"file:///a%FF", "/a\xff"},
		"file://host/tmp/x":           {"file://host/tmp/x", ""},
		"file:///../../../etc/passwd": {"file:///etc/passwd", "/etc/passwd"},
		"file:///a//b":                {"file:///a//b", "/a//b"},
	} {
		u, err := ParseURI(in)
		if err != nil || string(u) != want[0] {
			t.Errorf("ParseURI(%q) = %q, %v", in, u, err)
			continue
		}
		native, bad := u.Native()
		if native != want[1] || (bad == nil) != (want[1] != "") {
			t.Errorf("%q.Native() = %q, %v", u, native, bad)
		}
	}
	if _, err := URI("file://host/tmp/x").Native(); err == nil || err.Message != "'file://host/tmp/x' is invalid on '"+OSName()+"'" {
		t.Error(err)
	}
	for in, want := range map[string]string{
		"file:///a%00b": "'file:///a%00b' is invalid on '" + OSName() + "'",
		"file:///a?x=1": "query parameters are not allowed in path URIs",
		"file:///a#x":   "fragments are not allowed in path URIs",
	} {
		if u, err := ParseURI(in); err == nil || err.Error() != want {
			t.Errorf("ParseURI(%q) = %q, %v, want %s", in, u, err, want)
		}
	}
	if OSName() == "linux" {
		if _, err := URI("file:///c:/x").Native(); err == nil || err.Message != "'file:///C:/x' is invalid on 'linux'" {
			t.Error(err)
		}
	}
	for _, path := range []string{"/", "/a b/%41/\xff\\x?#", "/é"} {
		u, err := ParseURI(string(FileURI(path)))
		if err != nil || u != FileURI(path) {
			t.Errorf("%q: %q, %v", path, u, err)
		}
		if back, bad := u.Native(); bad != nil || back != path {
			t.Errorf("%q came back as %q, %v", path, back, bad)
		}
	}
}

func TestBase64(t *testing.T) {
	for in, want := range map[string]string{
		"!!":       "Invalid symbol 33, offset 0.",
		"***":      "Invalid symbol 42, offset 0.",
		"eHh4":     "",
		"eHg=":     "",
		"":         "",
		"eHg":      "Invalid padding",
		"eHh4e":    "Invalid input length: 5",
		"eHh=":     "Invalid last symbol 104, offset 2.",
		"eH\ng=":   "Invalid symbol 10, offset 2.",
		"eHh4\n":   "Invalid symbol 10, offset 4.",
		"eA==eA==": "Invalid symbol 61, offset 2.",
	} {
		_, err := DecodeBase64([]byte(in))
		if err != nil {
			if got := err.Error(); got != want {
				t.Errorf("%q: %q, want %q", in, got, want)
			}
		} else if want != "" {
			t.Errorf("%q was taken", in)
		}
	}
}
