package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

// The programs that answer in Node.js; the argument is the library that they load.
const (
	// TypeScriptHost is a host with the SDK for TypeScript.
	TypeScriptHost = `const { Host } = require(process.argv[1]);
const host = new Host({ name: "echo" });
host.handle("echo", (x) => x);
host.serve();`
	jsonrpcServer = `const rpc = require(process.argv[1]);
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(process.stdin), new rpc.StreamMessageWriter(process.stdout));
connection.onRequest("initialize", () => ({}));
connection.onRequest("echo", (x) => x);
connection.listen();`
)

// nodeEcho is what is sent and comes back: 100 bytes.
var nodeEcho = strings.Repeat("x", 100)

// TypeScript asks a host of the SDK, whose build is at that path, for what it was sent.
func TypeScript(node, sdk string) (Asker, error) {
	h := supervisor.HostSpec{Command: []string{node, "-e", TypeScriptHost, sdk}, Protocol: native.New()}
	h.Requests.MaxPending = 1 << 16
	return superviseAsker(h, func(ctx context.Context, h *supervisor.Host) error {
		var out string
		if err := h.Call(ctx, "echo", nodeEcho, &out); err != nil {
			return err
		}
		if out != nodeEcho {
			return fmt.Errorf("echo: %q", out)
		}
		return nil
	})
}

// VSCodeJSONRPC asks a server made with vscode-jsonrpc, whose module for Node.js is at that
// path, for the same, by a client with a table of channels and a read loop.
func VSCodeJSONRPC(node, module string) (Asker, error) {
	return dialJSON([]string{node, "-e", jsonrpcServer, module}, echoes{})
}

// echoes is the framing of language servers, with a server that echoes.
type echoes struct{ headers }

func (echoes) question() []byte {
	return []byte(`{"jsonrpc":"2.0","method":"echo","params":["` + nodeEcho + `"],"id":`)
}

func (echoes) right(got *said) bool {
	var out string
	return got.Error == nil && json.Unmarshal(got.Result, &out) == nil && out == nodeEcho
}
