//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// webServer runs a server until it is killed, at the latest by the end of the test. It returns
// when the server listens at addr.
func webServer(t *testing.T, addr string, env []string, argv ...string) (kill func()) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is killed
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), logWriter{t}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
		killed = true
	}
	t.Cleanup(kill)
	eventually(t, func() bool {
		c, err := net.Dial("tcp", addr) //nolint:noctx // of this machine
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, "nobody listens at "+addr)
	return kill
}

// everyServer runs the everything server of the first SDK over HTTP. It returns the URL.
func everyServer(t *testing.T) string {
	t.Helper()
	addr := freePort(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	webServer(t, addr, []string{"PORT=" + port}, npm(t, "mcp-server-everything"), "streamableHttp")
	return "http://" + addr + "/mcp"
}

// remoteHost returns the block of a host that is a server elsewhere.
func remoteHost(name, at, more string) string {
	return fmt.Sprintf("host %q {\n  url    = %q\n  attach = true\n%s\n}\n", name, at, more)
}

// The everything server of the first SDK is reached over HTTP, with sessions, by agents that
// reach hostsup over HTTP too.
func TestMCPRemote(t *testing.T) {
	t.Parallel()
	node, at := peer(t, "node"), everyServer(t)
	sdk, err := filepath.Abs(filepath.Join(peerDir, "@modelcontextprotocol", "sdk", "dist", "esm"))
	if err != nil {
		t.Fatal(err)
	}
	overHTTP(t, remoteHost("every", at, ""), `"every"`, true, func(socket, at, token string) []string {
		modules := url.URL{Scheme: "file", Path: sdk + "/"}
		return []string{node, filepath.Join("testdata", "mcp_http_client.mjs"), modules.String(), hostsupBinary(t), socket, at + "/mcp", token}
	})
}

// Agents of the second SDK, of both generations, reach servers of both SDKs elsewhere through
// `hostsup attach`.
func TestMCPRemoteSecondSDK(t *testing.T) {
	t.Parallel()
	node, from, _ := secondSDK(t)
	program, dir := hostsupBinary(t), t.TempDir()
	both, only := freePort(t), freePort(t)
	server := filepath.Join("testdata", "mcp_http_server_v2.mjs")
	webServer(t, both, nil, node, server, from, both)
	webServer(t, only, nil, node, server, from, only, "reject")
	text := fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n", filepath.Join(dir, "state")) +
		remoteHost("both", "http://"+both+"/", "") + remoteHost("turn", "http://"+both+"/", "") + remoteHost("new", "http://"+only+"/", "") + remoteHost("old", everyServer(t), "")
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

// A supervisor reaches a server through another supervisor, which serves it over HTTP and is
// killed in the middle of calls: each call has one outcome, and the agent goes on when the
// other supervisor is back.
func TestMCPRemoteKilled(t *testing.T) {
	t.Parallel()
	program, dir, addr := hostsupBinary(t), t.TempDir(), freePort(t)
	within := func(name string) string { return filepath.Join(dir, name) }
	token := strings.Repeat("token-of-far-", 3)
	write := func(name, text string) {
		if err := os.WriteFile(within(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("far.token", token)
	write("far.hcl", fmt.Sprintf(`
supervisor {
  state_dir = "far"
}
host "every" {
  command     = [%q, "stdio"]
  protocol    = "jsonrpc-lines"
  attach      = true
  inherit_env = ["PATH"]
}
serve "mcp" {
  listen = %q
  hosts  = ["every"]
  auth {
    token "near" {
      file = "far.token"
    }
  }
}
`, npm(t, "mcp-server-everything"), addr))
	at := "http://" + addr + "/mcp"
	write("near.hcl", "variable \"token\" {}\nsupervisor {\n  state_dir = \"near\"\n}\n"+
		remoteHost("far", at, `
  remote {
    token           = var.token
    connect_timeout = "2s"
  }
  restart {
    max_crashes = 100
  }
`)+fmt.Sprintf(`
host "refused" {
  url = %q
  remote {
    token = "another"
  }
  start {
    eager = false
  }
  restart {
    max_crashes = 1
  }
}
`, at))
	far := func() func() {
		return webServer(t, addr, nil, program, "run", "-c", within("far.hcl"), "--socket", within("far.sock"))
	}
	kill := far()
	runProgram(t, program, "run", "-c", within("near.hcl"), "--socket", within("near.sock"), "--var", "token="+token)
	a, _ := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), dir, "--socket", within("near.sock"), "far")
	call := func(method string, params any) (string, error) {
		_, answer := a.begin(method, params)
		return a.wait(answer)
	}
	if _, err := call("initialize", dict{"protocolVersion": "2025-11-25", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}}); err != nil {
		t.Fatal(err)
	}
	a.tell("notifications/initialized", nil)
	echo := func(text string) error {
		out, err := call("tools/call", dict{"name": "echo", "arguments": dict{"message": text}})
		if err == nil && !strings.Contains(out, text) {
			t.Errorf("echo: %s", out)
		}
		return err
	}
	if err := echo("hello"); err != nil {
		t.Fatal(err)
	}

	// The token is nowhere that other users look.
	status := func(name string) (h struct {
		State, Reason, URL string
		PID                int
		Life               int
	}) {
		out, err := exec.CommandContext(ctx(t), program, "--socket", within("near.sock"), "status", name, "--json").Output()
		var st struct{ Hosts []json.RawMessage }
		if err == nil {
			err = json.Unmarshal(out, &st)
		}
		if err == nil {
			err = json.Unmarshal(st.Hosts[0], &h)
		}
		if err != nil || strings.Contains(string(out), token) {
			t.Fatalf("%v: %s", err, out)
		}
		return h
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status("far").PID))
	if err != nil || strings.Contains(string(line), token) || !strings.Contains(string(line), at) || status("far").URL != at {
		t.Errorf("%v: %q, %q", err, line, status("far").URL)
	}

	var lost []chan codec.Message
	for i := range 5 {
		_, answer := a.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 6000}, "_meta": dict{"progressToken": i}})
		lost = append(lost, answer)
	}
	a.until("progress", noted("notifications/progress"))
	kill()
	for i, answer := range lost {
		if out, err := a.wait(answer); err == nil {
			t.Errorf("call %d: %s", i, out)
		}
	}
	far()
	eventually(t, func() bool { return echo("again") == nil }, "the server does not come back")
	if h := status("far"); h.Life < 2 || h.State != "running" {
		t.Errorf("%+v", h)
	}

	_ = exec.CommandContext(ctx(t), program, "--socket", within("near.sock"), "start", "refused").Run() // fails
	eventually(t, func() bool { return status("refused").State == "failed" }, "a host with another token is not given up")
	if h := status("refused"); !strings.Contains(h.Reason, "refuses the token, which remote.token") || !strings.Contains(h.Reason, "401 Unauthorized") {
		t.Errorf("%+v", h)
	}
}
