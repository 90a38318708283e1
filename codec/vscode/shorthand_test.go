package vscode

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	p := Language{}
	for _, tc := range []struct{ method, params, want string }{
		{"hello.greet", "", `["hello.greet"]`},
		{"hello.greet", "null", `["hello.greet"]`},
		{"hello.greet", " [ ] ", `["hello.greet"]`},
		{"hello.greet", `["you", [1]]`, `["hello.greet","you", [1]]`},
		{"hello", `{"a":[]}`, `["hello",{"a":[]}]`},
		{`say "hi"`, `"you"`, `["say \"hi\"","you"]`},
	} {
		method, params := p.Expand(tc.method, codec.Raw(tc.params))
		if method != methodCommand || string(params) != tc.want {
			t.Errorf("%s %s: %s %s", tc.method, tc.params, method, params)
		}
	}
	for _, method := range []string{"", "$/ping", "ExtHostCommands.$nonsense", "terminate", "init"} {
		if got, params := p.Expand(method, codec.Raw("[1]")); got != method || string(params) != "[1]" {
			t.Errorf("%s: %s %s", method, got, params)
		}
	}
}
