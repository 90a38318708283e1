package faults

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// lines has this program play an MCP server, see speakLines.
const lines = "FAULTS_LINES"

// binary is hostsup.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(lines) != "" {
		leaktest.Exit(speakLines())
	}
	flag.Parse()
	leaktest.Main(tests{m})
}

// tests are all tests with a binary of hostsup.
type tests struct{ *testing.M }

func (t tests) Run() int {
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hostsup")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/hostsup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s\n", err, out)
		return 1
	}
	return t.M.Run()
}

// speakLines answers each request of JSON-RPC by lines with its params.
func speakLines() int {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     *json.RawMessage `json:"id"`
			Method string           `json:"method"`
			Params json.RawMessage  `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result any = m.Params
		if m.Method == "initialize" {
			result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lines","version":"1"}}`)
		}
		if out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) != nil {
			return 1
		}
	}
	return 0
}
