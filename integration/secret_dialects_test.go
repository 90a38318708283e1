//go:build linux

package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/supervisor"
)

func init() {
	roles["lines-asker"] = linesAsker
	roles["msgpack-asker"] = msgpackAsker
}

// linesAsker speaks JSON-RPC by line. Asked for a "digest", it first asks for its
// secret.
func linesAsker() int {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	var waiting json.RawMessage
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result any             `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return 1
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch {
		case m.Method == "digest":
			waiting = m.ID
			answer = map[string]any{"jsonrpc": "2.0", "id": "own", "method": "secrets/get", "params": map[string]any{"key": "asked"}}
		case m.Method == "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "asker", "version": "1"},
			}
		case m.Method == "ping":
			answer["result"] = map[string]any{}
		case m.Method == "" && string(m.ID) == `"own"`:
			text, _ := m.Result.(string)
			answer["id"], answer["result"] = waiting, digest(text)
			if m.Error != nil {
				answer["result"] = m.Error.Message
			}
		case len(m.ID) > 0:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		default:
			continue
		}
		if out.Encode(answer) != nil {
			return 1
		}
	}
	return 0
}

// msgpackAsker does the same in MessagePack-RPC.
func msgpackAsker() int {
	in, out := msgpack.NewDecoder(os.Stdin), msgpack.NewEncoder(os.Stdout)
	var waiting any
	for {
		m, err := in.DecodeSlice()
		if err != nil {
			return 0
		}
		kind, _ := m[0].(int8)
		answer := []any{1, m[1], nil, nil}
		switch {
		case kind == 0 && m[2] == "digest":
			waiting = m[1]
			answer = []any{0, 7, "secrets.get", []any{map[string]any{"key": "asked"}}}
		case kind == 1:
			text, _ := m[3].(string)
			answer = []any{1, waiting, m[2], digest(text)}
		case kind == 2:
			continue
		}
		if out.Encode(answer) != nil {
			return 1
		}
	}
}

// A host asks for what is its own in the language that it speaks.
func TestSecretDialects(t *testing.T) {
	t.Parallel()
	for role, protocol := range map[string]codec.Protocol{"lines-asker": jsonrpc.Lines(jsonrpc.Options{}), "msgpack-asker": msgpackrpc.New(msgpackrpc.Options{})} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			h := demoHost("asker", func(h *supervisor.HostSpec) {
				h.Protocol, h.Secrets = protocol, supervisor.SecretRule{Owned: []string{"asked"}}
			})
			h.Env = hostEnv(role)
			source := &cabinet{all: map[string]string{"asked": "an \"answer\" to it"}}
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}, Secrets: source})
			var got string
			if err := host(t, sup, "asker").Call(ctx(t), "digest", nil, &got); err != nil || got != digest("an \"answer\" to it") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
