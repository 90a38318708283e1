//go:build linux

package integration

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// The second public SDK of MCP, client and server, speaks the generation without the
// handshake through `hostsup attach`, and that with it where the other side has no other.
func TestMCPSecondSDK(t *testing.T) {
	t.Parallel()
	node, from, hosts := secondSDK(t)
	program, dir := hostsupBinary(t), t.TempDir()
	text := fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n", filepath.Join(dir, "state")) + hosts
	file, socket := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "sock")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	defer runProgram(t, program, "run", "-c", file, "--socket", socket)()
	out, err := exec.CommandContext(ctx(t), node, filepath.Join("testdata", "mcp_client_v2.mjs"), from, program, socket).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// secondSDK returns node, the address of the folder that the SDK is imported from, and the
// configuration of four servers: "both" and "turn" speak both generations, "new" only the one without
// the handshake, and "old" only the one with it.
func secondSDK(t *testing.T) (node, from, hosts string) {
	t.Helper()
	node = peer(t, "node")
	old := npm(t, "mcp-server-filesystem")
	modules, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client", "server"} {
		if _, err := os.Stat(filepath.Join(modules, "@modelcontextprotocol", name)); err != nil {
			require.Missing(t, "%v; ./test peers installs it", err)
		}
	}
	server, err := filepath.Abs(filepath.Join("testdata", "mcp_server_v2.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	from = (&url.URL{Scheme: "file", Path: modules + "/"}).String()
	return node, from, secondSDKHost("both", node, server, from) + secondSDKHost("turn", node, server, from) + secondSDKHost("new", node, server, from, "reject") + secondSDKHost("old", old, t.TempDir())
}

// secondSDKHost returns the block of a host that is opened by its clients.
func secondSDKHost(name string, command ...string) string {
	quoted := ""
	for _, word := range command {
		quoted += fmt.Sprintf("%q, ", word)
	}
	return fmt.Sprintf(`
host %q {
  command     = [%s]
  protocol    = "jsonrpc-lines"
  attach      = true
  inherit_env = ["PATH"]
  stop {
    grace = "1s"
  }
}
`, name, quoted)
}
