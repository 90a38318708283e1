//go:build linux

package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The public client SDK of MCP gets to its servers through `hostsup attach`:
// from what an agent has in its mcp.json, hostsup init makes a configuration,
// hostsup run runs it, and the servers are killed under the client.
func TestMCPClientSDK(t *testing.T) {
	t.Parallel()
	node, program := peer(t, "node"), hostsupBinary(t)
	files, every := npm(t, "mcp-server-filesystem"), npm(t, "mcp-server-everything")
	sdk, err := filepath.Abs(filepath.Join(peerDir, "@modelcontextprotocol", "sdk", "dist", "esm"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	within := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"work", "tmp"} {
		if err := os.Mkdir(within(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := dict{"TMPDIR": within("tmp")}
	list, err := json.Marshal(dict{"mcpServers": dict{
		"files": dict{"command": files, "args": []string{within("work")}, "env": env},
		"every": dict{"command": every, "args": []string{"stdio"}, "env": env},
		"away":  dict{"url": "https://example.com/mcp"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(within("mcp.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx(t), program, "init", "--from", within("mcp.json"), "-o", within("config.hcl")).CombinedOutput(); err != nil {
		t.Fatalf("init: %v: %s", err, out)
	}
	appendTo(t, within("config.hcl"), fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n", within("state")))

	socket := within("sock")
	stop := runProgram(t, program, "run", "-c", within("config.hcl"), "--socket", socket)
	modules := url.URL{Scheme: "file", Path: sdk + "/"}
	cmd := exec.CommandContext(ctx(t), node, filepath.Join("testdata", "mcp_client.mjs"), modules.String(), program, socket, within("work"))
	cmd.Env = append(os.Environ(), "TMPDIR="+within("tmp"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %s", err, complaints.String())
	}
	stop()

	// Its servers have gone with the supervisor, or with the kills before.
	var pids []int
	if err := json.Unmarshal(out, &pids); err != nil || len(pids) != 5 {
		t.Errorf("servers %s, want the pids of five: %v", out, err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("server %d is left: %v", pid, err)
		}
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(before, text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runProgram runs the program as a supervisor, until it is ready. It is told to
// end by stop or with the test, and has to end well.
func runProgram(t testing.TB, argv ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is stopped, not killed
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(pipe); s.Scan(); {
			t.Log(s.Text())
			if strings.HasPrefix(s.Text(), "hostsup: ready") {
				close(ready)
			}
		}
	}()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		select {
		case <-read:
		case <-ctx(t).Done():
			t.Error("the supervisor does not end")
			_ = cmd.Process.Kill() // it has ended, or does now
			<-read
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the supervisor: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-ready:
	case <-read:
		t.Fatal("the supervisor has ended")
	case <-ctx(t).Done():
		t.Fatal("the supervisor is not ready")
	}
	return stop
}
