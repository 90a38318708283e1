//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// checks are the results of the conformance suite: of each scenario, and in that of each
// check, the status. Of a check that comes several times it is the worst.
type checks map[string]map[string]string

// badness orders the statuses. A check of something that is optional is an INFO where that
// is not used.
var badness = map[string]int{"SUCCESS": 1, "INFO": 1, "SKIPPED": 1, "WARNING": 2, "FAILURE": 3}

// suite runs the scenarios for servers of the official conformance suite of MCP.
func suite(t *testing.T, at string) checks {
	t.Helper()
	program := npm(t, "conformance")
	found, err := filepath.Glob(filepath.Join(peerDir, "node-linux-*", "bin", "node")) // the suite needs a newer one than Debian has
	if err != nil || len(found) == 0 {
		require.Missing(t, "node from npm: %v; ./test peers installs it", err)
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(ctx(t), found[0], program, "server", "--url", at, "--suite", "all", "-o", dir).CombinedOutput()
	// It fails if a check does.
	all := checks{}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json")) // the pattern is valid
	for _, file := range files {
		var list []struct{ ID, Status string }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		scenario := regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`).ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		all[scenario] = map[string]string{}
		for _, c := range list {
			if badness[c.Status] == 0 {
				t.Errorf("%s: %s has the status %q", scenario, c.ID, c.Status)
			}
			if badness[c.Status] > badness[all[scenario][c.ID]] {
				all[scenario][c.ID] = c.Status
			}
		}
	}
	if len(all) < 30 {
		t.Fatalf("%d scenarios, %v: %s", len(all), err, out)
	}
	return all
}

func (c checks) passed() (n int) {
	for _, scenario := range c {
		for _, status := range scenario {
			if badness[status] == 1 {
				n++
			}
		}
	}
	return n
}

// The official conformance suite of MCP passes against servers that are served by hostsup over
// HTTP wherever it passes against the same servers by themselves: the everything server of the
// first TypeScript SDK, and the server for this suite of the Go SDK, which passes all of it.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	npm(t, "conformance")
	for name, server := range map[string]struct {
		stdio []string
		web   func(t *testing.T) string
		least int // checks that pass
	}{
		"typescript": {[]string{npm(t, "mcp-server-everything"), "stdio"}, everyServer, 12},
		"go": {[]string{goSDK(t, "everything-server")}, func(t *testing.T) string {
			addr := net.JoinHostPort("127.0.0.1", portOf(t, freePort(t))) // it serves no other name
			webServer(t, addr, nil, goSDK(t, "everything-server"), "-http", addr, "-stateless=false")
			return "http://" + addr + "/mcp"
		}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := suite(t, server.web(t))
			serve := "  hosts = [\"every\"]\n  auth {\n    required = false\n  }\n"
			servedOverHTTP(t, secondSDKHost("every", server.stdio...), serve, false, func(_, at, _ string) error {
				through := suite(t, at+"/every/mcp")
				t.Logf("%d checks pass against the server, %d through hostsup", direct.passed(), through.passed())
				if n := through.passed(); n < server.least {
					return fmt.Errorf("%d checks pass, want %d", n, server.least)
				}
				for scenario, list := range direct {
					if through[scenario] == nil {
						t.Errorf("%s is missing", scenario)
					}
					for id, status := range list {
						if got := through[scenario][id]; status == "SUCCESS" && badness[got] != badness[status] {
							t.Errorf("%s: %s is %q against the server, and %q through hostsup", scenario, id, status, got)
						}
					}
					for id, got := range through[scenario] {
						if got == "FAILURE" && list[id] != got {
							t.Errorf("%s: %s is %q against the server, and %q through hostsup", scenario, id, list[id], got)
						}
					}
				}
				return nil
			})
		})
	}
}

func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
