package attach

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestResultIDs(t *testing.T) {
	for _, test := range []struct {
		result string
		life   uint64
		want   string
	}{
		{`{"data":[1],"resultId":"5"}`, 3, `{"data":[1],"resultId":"3/5"}`},
		{`{"data":[1],"resultId":"5"}`, 0, `{"data":[1]}`},
		{`{"data": []}`, 3, `{"data": []}`},
		{`null`, 3, `null`},
	} {
		if got := string(tagged(codec.Raw(test.result), test.life)); got != test.want {
			t.Errorf("%s of life %d: %s, want %s", test.result, test.life, got, test.want)
		}
	}
	const delta, full = "textDocument/semanticTokens/full/delta", "textDocument/semanticTokens/full"
	for _, test := range []struct {
		method, params string
		life           uint64
		as, want       string
	}{
		{delta, `{"previousResultId":"3/a/b"}`, 3, delta, `{"previousResultId":"a/b"}`},
		{delta, `{"previousResultId":"3/a","x":1}`, 4, full, `{"x":1}`},
		{delta, `{"previousResultId":"3/a"}`, 0, full, `{}`},
		{delta, `{"previousResultId":7}`, 3, full, `{}`},
		{"textDocument/diagnostic", `{"previousResultId":"3/a"}`, 4, "textDocument/diagnostic", `{}`},
		{"textDocument/diagnostic", `{"x": 1}`, 4, "textDocument/diagnostic", `{"x": 1}`},
		{full, `[]`, 4, full, `[]`},
	} {
		if as, got := untagged(test.method, codec.Raw(test.params), test.life); as != test.as || string(got) != test.want {
			t.Errorf("%s %s in life %d: %s %s, want %s %s", test.method, test.params, test.life, as, got, test.as, test.want)
		}
	}
}
