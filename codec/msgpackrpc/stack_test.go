package msgpackrpc_test

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
)

// Whether the peer is a Neovim is seen by what it says to the question whether it
// lives; until then it is taken for one.
func TestStacks(t *testing.T) {
	const nvim, result, unknown = "\x94\x01\x02\x92\x00\xb4Invalid method: poll\xc0", "\x94\x01\x02\xc0\xa2ok", "\x94\x01\x02\xa4what\xc0"
	for _, test := range []struct {
		name, ping, answer string
		stacks             bool
	}{
		{"Neovim", "", nvim, true},
		{"a plugin host", "", result, false},
		{"a program that knows no poll", "", unknown, false},
		{"Neovim, asked otherwise", "nvim_get_mode", result, true},
		{"an answer to something else", "", strings.Replace(result, "\x02", "\x03", 1), true},
	} {
		s := msgpackrpc.New(msgpackrpc.Options{Ping: test.ping}).Open(codec.Limits{})
		stacker := s.(*msgpackrpc.Session)
		if !stacker.Stacks("done") || stacker.Stacks("nvim_get_api_info") || stacker.Stacks("vim_eval") {
			t.Errorf("%s: before anything is known", test.name)
		}
		if _, err := s.Append(nil, &codec.Message{Kind: codec.Request, ID: 2, Method: s.Ping()}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(nil, &codec.Message{Kind: codec.Request, ID: 3, Method: "other"}); err != nil {
			t.Fatal(err)
		}
		var m codec.Message
		if err := s.NewReader(strings.NewReader(test.answer)).Next(&m); err != nil {
			t.Fatal(err)
		}
		if got := stacker.Stacks("done"); got != test.stacks {
			t.Errorf("%s: stacks %v", test.name, got)
		}
	}
}
