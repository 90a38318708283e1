package attach

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestMannerOf(t *testing.T) {
	for _, test := range []struct {
		method, params string
		want           manner
	}{
		{"textDocument/hover", `{"position":{}}`, repeats},
		{"textDocument/references", `{"partialResultToken":"x"}`, fades},
		{"textDocument/diagnostic", `{"previousResultId":"1"}`, fades},
		{"textDocument/diagnostic", `{}`, repeats},
		{"workspace/symbol", `[]`, repeats},
		{"codeLens/resolve", `{}`, fades},
		{"workspace/executeCommand", `{}`, fails},
		{"rust-analyzer/runnables", `{}`, fails},
	} {
		if got := mannerOf(test.method, codec.Raw(test.params)); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.method, test.params, got, test.want)
		}
	}
}
