//go:build linux

package integration

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// overHTTP runs a supervisor that serves hosts over HTTP, and then a client, with the URL of
// the servers and the file with the token as its last arguments. The client stops the
// supervisor itself if stops is set.
func overHTTP(t *testing.T, hosts, names string, stops bool, client func(socket, url, token string) []string) {
	t.Helper()
	servedOverHTTP(t, hosts, "  hosts  = ["+names+"]\n", stops, func(socket, at, token string) error {
		argv := client(socket, at, token)
		out, err := exec.CommandContext(ctx(t), argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// servedOverHTTP is overHTTP with more of the block that serves the hosts, and with a client
// that is a function.
func servedOverHTTP(t *testing.T, hosts, serve string, stops bool, client func(socket, url, token string) error) {
	t.Helper()
	program := hostsupBinary(t)
	dir := t.TempDir()
	within := func(name string) string { return filepath.Join(dir, name) }
	text := fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n%s\nserve \"mcp\" {\n  listen = \"127.0.0.1:0\"\n%s}\n", within("state"), hosts, serve)
	if err := os.WriteFile(within("config.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ready, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	cmd := exec.CommandContext(ctx(t), program, "run", "-c", within("config.hcl"), "--socket", within("sock"))
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	log, lines := make(chan struct{}), make(chan string, 1)
	go func() { // ends with the supervisor
		defer close(log)
		var all bytes.Buffer
		found := false
		b := make([]byte, 4<<10)
		for {
			n, err := ready.Read(b)
			all.Write(b[:n])
			if at := regexp.MustCompile(`(?m)^hostsup: ready .*mcp at (http://[^/]+)/.*$`).FindSubmatch(all.Bytes()); at != nil && !found {
				found = true
				lines <- string(at[1])
			}
			if err != nil {
				t.Log(all.String())
				return
			}
		}
	}()
	select {
	case at := <-lines:
		if err := client(within("sock"), at, filepath.Join(within("state"), "serve-mcp.token")); err != nil {
			t.Error(err)
			stops = false
		}
	case <-log:
		t.Error("the supervisor is not ready")
	}
	if !stops {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	<-log
	if err := cmd.Wait(); err != nil {
		t.Errorf("the supervisor: %v", err)
	}
}

// The first public client SDK of MCP uses the everything server over HTTP: two agents, a
// kill in the middle of a call, a restart, streams that are cut off, callers that are not
// let in, and the end of the supervisor.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	node, every := peer(t, "node"), npm(t, "mcp-server-everything")
	sdk, err := filepath.Abs(filepath.Join(peerDir, "@modelcontextprotocol", "sdk", "dist", "esm"))
	if err != nil {
		t.Fatal(err)
	}
	hosts := fmt.Sprintf("host \"every\" {\n  command     = [%q, \"stdio\"]\n  protocol    = \"jsonrpc-lines\"\n  attach      = true\n  inherit_env = [\"PATH\"]\n}", every)
	overHTTP(t, hosts, `"every"`, true, func(socket, at, token string) []string {
		modules := url.URL{Scheme: "file", Path: sdk + "/"}
		return []string{node, filepath.Join("testdata", "mcp_http_client.mjs"), modules.String(), hostsupBinary(t), socket, at + "/mcp", token}
	})
}

// The second public SDK speaks the generation without sessions over HTTP, and that with them
// where the server has no other.
func TestMCPSecondSDKOverHTTP(t *testing.T) {
	t.Parallel()
	node, from, hosts := secondSDK(t)
	overHTTP(t, hosts, `"both", "turn", "new", "old"`, false, func(socket, at, token string) []string {
		return []string{node, filepath.Join("testdata", "mcp_client_v2.mjs"), from, hostsupBinary(t), socket, at, token}
	})
}

// Agents over HTTP tell their roots, by which they have an instance of the host.
func TestMCPRootsOverHTTP(t *testing.T) {
	t.Parallel()
	node, thinking := peer(t, "node"), npm(t, "mcp-server-sequential-thinking")
	modules, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	from := url.URL{Scheme: "file", Path: modules + "/"}
	one, two := t.TempDir(), t.TempDir()
	text := ""
	for name, more := range map[string]string{"at": "dir = root", "any": ""} {
		text += strings.Replace(secondSDKHost(name, thinking), "  attach      = true", more+`
  attach {
    instances = "root"
  }`, 1)
	}
	overHTTP(t, text, `"at", "any"`, false, func(socket, at, token string) []string {
		return []string{node, filepath.Join("testdata", "mcp_roots.mjs"), from.String(), hostsupBinary(t), socket, at, token, one, two}
	})
}
