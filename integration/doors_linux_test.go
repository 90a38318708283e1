//go:build linux

package integration

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Neovim and two MCP clients use the same host at the same time, by hostsup attach and over HTTP. It is
// killed while all are attached.
func TestEditorsAndAgentsShareAHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		nvim, program, work := peer(t, "nvim"), hostsupBinary(t), t.TempDir()
		file := written(t, work, "a.acme", "def one\none two\nbad\n")
		script := written(t, t.TempDir(), "client.lua", neovimClient)
		host := configuredHost(t, version, "features", fmt.Sprintf("    workspace = [%q]\n    serve \"lsp\" {}\n    serve \"mcp\" { languages = true }\n", work))
		servedOverHTTP(t, host, "  hosts = [\"code\"]\n", false, func(socket, at, tokenFile string) error {
			token, err := os.ReadFile(tokenFile)
			if err != nil {
				return err
			}
			agent := func(transport sdk.Transport) (*mcpClient, error) {
				session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx(t), transport, nil)
				return &mcpClient{ClientSession: session}, err
			}
			attach := exec.CommandContext(ctx(t), program, "--socket", socket, "attach", "code")
			near, err := agent(&sdk.CommandTransport{Command: attach})
			if err != nil {
				return err
			}
			defer near.Close()
			far, err := agent(&sdk.StreamableClientTransport{Endpoint: at + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport(strings.TrimSpace(string(token)))}})
			if err != nil {
				return err
			}
			defer far.Close()
			asks := func() {
				t.Helper()
				for _, c := range []*mcpClient{near, far} {
					same(t, c.calls(t, "language_definition", map[string]any{"file": file, "line": 2, "column": 2}), file+":1:5")
				}
			}
			asks()
			editor := exec.CommandContext(ctx(t), nvim, "--headless", "--clean", "-i", "NONE", file, "-c", "luafile "+script)
			editor.Env = append(os.Environ(), "HOME="+filepath.Dir(script), "TMPDIR="+filepath.Dir(script), "HOSTSUP_SOCKET="+socket, "PROGRAM="+program)
			out, err := editor.CombinedOutput()
			if got := strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")); err != nil || !strings.HasSuffix(got, "all is well") {
				return fmt.Errorf("%w: %s", err, got)
			}
			asks() // of the next life
			other := exec.CommandContext(ctx(t), program, "--socket", socket, "attach", "code")
			other.Stdin = strings.NewReader("  5")
			if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "the input begins with byte 0x35, which is no message of jsonrpc-lines or jsonrpc-headers") {
				t.Errorf("%v: %s", err, out)
			}
			return nil
		})
	})
}
