package integration

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// everythingArgs are the program and the arguments of an MCP server that has slow tools.
var everythingArgs = []string{"mcp-server-everything", "stdio"}

// slowly is a call that lasts for ten minutes.
var slowly = dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}}

// agentOf attaches an agent to an MCP server of a daemon, with a call that is open.
func agentOf(t *testing.T, told *lockedBuffer, args ...string) (*attached, *exec.Cmd, func()) {
	t.Helper()
	a, cmd := attachTelling(t, told, jsonrpc.Lines(jsonrpc.Options{}), t.TempDir(), args...)
	a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
	a.tell("notifications/initialized", nil)
	_, open := a.begin("tools/call", slowly)
	a.must("tools/list", nil) // behind the one that is open
	return a, cmd, func() {
		t.Helper()
		out, err := a.wait(open)
		if err == nil || errors.Is(err, errStream) {
			t.Errorf("the open call, which may have changed something: %s, %v", out, err)
		}

	}
}

// endsWith waits for the end of a program with an exit code.
func endsWith(t *testing.T, a *attached, cmd *exec.Cmd, code int, told *lockedBuffer) {
	t.Helper()
	<-a.read
	_ = cmd.Wait() // its code follows
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, expected %d: %s", got, code, told)
	}
}

// A supervisor comes back with a configuration in which the host of a program is not what it
// was. Its open call fails, and it ends with a message that tells what has changed.
func TestAttachEndsWithoutItsHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, config string
		code         int
		told         string
	}{
		{"renamed", "host \"other\" {\n  command = [\"/bin/sleep\", \"600\"]\n  protocol = \"none\"\n}", 5, `no host "everything"`},
		{"of another protocol", "host \"everything\" {\n  command = [\"/bin/sleep\", \"600\"]\n  protocol = \"jsonrpc-headers\"\n  start {\n    eager = false\n  }\n}", 1, `host "everything" speaks jsonrpc-headers since`},
		{"without a protocol", "host \"everything\" {\n  command = [\"/bin/sleep\", \"600\"]\n  protocol = \"none\"\n}", 2, `no program can attach to host "everything"`},
		{"failing", "host \"everything\" {\n  command = [\"/bin/false\"]\n  protocol = \"jsonrpc-lines\"\n  restart {\n    max_crashes = 1\n  }\n}", 1, `host "everything" is failed`},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			d := relayedTo(t, "everything", "jsonrpc-lines", everythingArgs...)
			told := new(lockedBuffer)
			a, cmd, fails := agentOf(t, told, "--socket", d.dir+"/control", "everything")
			d.write("config.hcl", c.config)
			d.again(syscall.SIGKILL)
			fails()
			endsWith(t, a, cmd, c.code, told)
			if !strings.Contains(told.String(), c.told) {
				t.Errorf("it was told %q, expected %q", told, c.told)
			}
			d.end(syscall.SIGTERM)
		})
	}
}

// A program leaves, or is told to end, while its supervisor is away. It ends well.
func TestAttachLeavesInAbsence(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*attached, *exec.Cmd) error{
		"end of input": func(a *attached, _ *exec.Cmd) error { return a.rw.Close() },
		"SIGTERM":      func(_ *attached, cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(_ *attached, cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGINT) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d := relayedTo(t, "everything", "jsonrpc-lines", everythingArgs...)
			told := new(lockedBuffer)
			a, cmd, fails := agentOf(t, told, "--socket", d.dir+"/control", "everything")
			d.end(syscall.SIGKILL)
			fails()
			if err := end(a, cmd); err != nil {
				t.Error(err)
			}
			endsWith(t, a, cmd, 0, told)
		})
	}
}

// A program that reaches its supervisor over TCP goes on when that is started again with the
// same token.
func TestAttachReconnectsByURL(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d := daemonOf(t, "")
	token := d.write("token", strings.Repeat("attaches-", 5))
	d.settings = fmt.Sprintf("  console {\n    listen = %q\n    token \"agent\" {\n      role = \"full\"\n      file = %q\n    }\n  }\n", at, token)
	d.write("config.hcl", relayedHost(t, "everything", "jsonrpc-lines", everythingArgs...))
	d.run()
	told := new(lockedBuffer)
	a, cmd, fails := agentOf(t, told, "--url", "http://"+at, "--token-file", token, "everything")
	d.again(syscall.SIGKILL)
	fails()
	a.until("list of tools", noted("notifications/tools/list_changed"))
	if out := a.must("tools/call", dict{"name": "echo", "arguments": dict{"message": "hello"}}); !strings.Contains(out, "hello") {
		t.Error(out)
	}

	// With another token it ends.
	d.write("token", strings.Repeat("refuses--", 5))
	d.again(syscall.SIGKILL)
	endsWith(t, a, cmd, 1, told)
	if !strings.Contains(told.String(), "token") {
		t.Errorf("it was told %q", told)
	}
	d.end(syscall.SIGTERM)
}
