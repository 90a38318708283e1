//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
)

// errModules means that the modules of a program cannot be downloaded.
var errModules = errors.New("modules cannot be downloaded")

var goSDKPrograms = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gosdk-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	for _, args := range [][]string{{"mod", "download"}, {"build", "-o", dir + "/", "."}, {"build", "-o", dir + "/", "tool"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = filepath.Join("testdata", "gosdk"), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			if args[0] == "mod" {
				err = fmt.Errorf("%w: %w", errModules, err)
			}
			return "", fmt.Errorf("go %s: %w: %s", args[0], err, out)
		}
	}
	return dir, nil
})

// goSDK builds what is in testdata/gosdk and returns the path of a program: "gosdk", client and
// server of the official Go SDK of MCP, or "everything-server", its own server for the
// conformance suite.
func goSDK(t *testing.T, name string) string {
	t.Helper()
	peer(t, "go")
	if !require.Thorough() {
		require.Missing(t, "the Go SDK of MCP; HOSTSUP_THOROUGH=1 has the tests build it")
	}
	dir, err := goSDKPrograms()
	switch {
	case errors.Is(err, errModules):
		require.Missing(t, "the Go SDK of MCP: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// goSDKHosts returns the blocks of hosts that are servers of the Go SDK: "go" over stdio, and
// "far" over HTTP at a new port, with what their names stand for in testdata/gosdk. start starts the
// latter.
func goSDKHosts(t *testing.T, program string) (hosts string, start func() (kill func())) {
	t.Helper()
	at := freePort(t)
	start = func() func() { return webServer(t, at, nil, program, "serve", at) }
	for _, suffix := range []string{"", "-new", "-old"} {
		hosts += secondSDKHost("go"+suffix, program, "serve") + remoteHost("far"+suffix, "http://"+at+"/", "")
	}
	return hosts, start
}

// Agents of the official Go SDK of MCP, of both generations, use servers of that SDK over stdio
// and over HTTP through `hostsup attach`. Their processes are killed in the middle of calls,
// and so is the server that is reached over HTTP.
func TestMCPGoSDK(t *testing.T) {
	t.Parallel()
	sdk, program, dir := goSDK(t, "gosdk"), hostsupBinary(t), t.TempDir()
	hosts, start := goSDKHosts(t, sdk)
	text := fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n", filepath.Join(dir, "state")) + hosts
	file, socket := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "sock")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kill := start()
	defer runProgram(t, program, "run", "-c", file, "--socket", socket)()
	if out, err := exec.CommandContext(ctx(t), sdk, "use", program, socket, "go", "far").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}

	a, _ := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), dir, "--socket", socket, "far-old")
	a.must("initialize", dict{"protocolVersion": "2025-11-25", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
	a.tell("notifications/initialized", nil)
	_, lost := a.begin("tools/call", dict{"name": "never", "arguments": dict{}, "_meta": dict{"progressToken": 1}})
	a.until("progress", noted("notifications/progress"))
	kill()
	if out, err := a.wait(lost); err == nil {
		t.Errorf("a call to a server that was killed: %s", out)
	}
	start()
	eventually(t, func() bool {
		_, answer := a.begin("tools/call", dict{"name": "era", "arguments": dict{}})
		out, err := a.wait(answer)
		return err == nil && strings.Contains(out, "legacy")
	}, "the server does not come back")
}

// The same over HTTP, which hostsup serves.
func TestMCPGoSDKOverHTTP(t *testing.T) {
	t.Parallel()
	sdk := goSDK(t, "gosdk")
	hosts, start := goSDKHosts(t, sdk)
	start()
	names := `"go", "go-new", "go-old", "far", "far-new", "far-old"`
	overHTTP(t, hosts, names, false, func(socket, at, token string) []string {
		return []string{sdk, "use-http", hostsupBinary(t), socket, at, token, "go", "far"}
	})
}
