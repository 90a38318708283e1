package jsonedit

import (
	"errors"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestSetAndRemoveKeepTheRest(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	for _, c := range []struct {
		name, src string
		path      []string
		value     any // nil: it is removed
		want      string
	}{
		{"another value", "{ // own\n  \"a\": 1, // one\n  \"b\": 2 /* two */\n}\n", []string{"b"}, 3, "{ // own\n  \"a\": 1, // one\n  \"b\": 3 /* two */\n}\n"},
		{"a new one after a comment", "{\n\t\"a\": 1 // one\n}\n", []string{"b"}, []string{"x"}, "{\n\t\"a\": 1, // one\n\t\"b\": [\n\t\t\"x\"\n\t]\n}\n"},
		{"a new one after a comma", "{\n  \"a\": 1, // one\n}\n", []string{"b"}, true, "{\n  \"a\": 1, // one\n  \"b\": true,\n}\n"},
		{"for a language", "{}", []string{"[go]", "t.abs"}, 8, "{\n  \"[go]\": {\n    \"t.abs\": 8\n  }\n}\n"},
		{"without the first", "{\n  // above\n  \"a\": 1,\n  \"b\": 2\n}\n", []string{"a"}, nil, "{\n  // above\n  \"b\": 2\n}\n"},
		{"without the last", "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n", []string{"b"}, nil, "{\n  \"a\": 1 // one\n}\n"},
		{"without the only one", bom + "{\n  \"a\": 1,\n}\n", []string{"a"}, nil, bom + "{\n}\n"},
		{"without one in a line", "{\"a\": 1, \"b\": 2, \"c\": 3}\n", []string{"b"}, nil, "{\"a\": 1, \"c\": 3}\n"},
		{"without one that is not there", "{\"a\": 1}", []string{"b"}, nil, "{\"a\": 1}"},
		{"without one of a language", "{\"[go]\": {\"a\": 1}}\n", []string{"[go]", "a"}, nil, "{\"[go]\": {}}\n"},
		{"a comment behind a removed one", "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n", []string{"a"}, nil, "{\n   // one\n  \"b\": 2\n}\n"},
		{"lines of Windows", "{\r\n  \"a\": 1\r\n}\r\n", []string{"b"}, 2, "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"},
	} {
		var out []byte
		var err error
		if c.value == nil {
			out, err = Remove([]byte(c.src), c.path)
		} else {
			out, err = Set([]byte(c.src), c.path, c.value)
		}
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, out, err, c.want)
		}
	}
}

func TestTwoMembersOfOneNameAreRefused(t *testing.T) {
	src := []byte(`{"a": 1, "a": 2}`)
	if _, err := Set(src, []string{"a"}, 3); !errors.Is(err, ErrUnsafe) {
		t.Error(err)
	}
	if _, err := Remove(src, []string{"a"}); !errors.Is(err, ErrUnsafe) {
		t.Error(err)
	}
	if _, err := Remove([]byte("{"), []string{"a"}); err == nil {
		t.Error("a broken text was changed")
	}
}
