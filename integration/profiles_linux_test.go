package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// Each profile that has a kind of program in its name runs one: those for node,
// python, git and language servers by the tests of peers_linux_test.go, the others
// here.
func TestProfilesRunPrograms(t *testing.T) {
	t.Parallel()
	node := peer(t, "/usr/bin/node", "node")
	npm := peer(t, "/usr/bin/npm", "npm")
	gotool := peer(t, "/usr/local/go/bin/go", "/usr/bin/go", "go")
	peers, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	mcp := peer(t, filepath.Join(peers, ".bin/mcp-server-everything"))
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	users(t, func(t *testing.T, uid int) {
		if out, err := as(uid, exec.Command("/bin/sh", "-c", "cat "+mcp+" "+gotool+" >/dev/null")).CombinedOutput(); err != nil {
			require.Missing(t, "what ./test peers has installed, for user %d: %s", uid, out)
		}
		for _, c := range []struct {
			profile string
			more    []string
			files   map[string]string
			argv    []string
			says    string
			makes   string
		}{
			{profile: "go-build", files: map[string]string{"in/go.mod": "module x\n\ngo 1.21\n", "in/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n"},
				more: []string{"--env", "CGO_ENABLED=0"}, argv: []string{gotool, "build", "-C", "IN", "-trimpath", "-o", "WORK/x", "."}, makes: "work/x"},
			{profile: "npm-install", files: map[string]string{"in/package.json": `{"name": "dep", "version": "1.0.0", "scripts": {"install": "node -e \"1\""}}`,
				"work/package.json": `{"name": "app", "version": "1.0.0"}`},
				argv: []string{npm, "install", "--offline", "--no-audit", "--no-fund", "--install-links", "IN"}, makes: "work/node_modules/dep/package.json"},
			{profile: "mcp-server", more: []string{"--read", peers}, argv: []string{"/bin/sh", "-c", "printf '%s\\n' '" + hello + "' | " + node + " " + mcp + " stdio"}, says: `"serverInfo"`},
		} {
			t.Run(c.profile, func(t *testing.T) {
				j := newJob(t, uid)
				for name, text := range c.files {
					j.file(t, name, text)
				}
				var argv []string
				for _, a := range c.argv {
					argv = append(argv, strings.NewReplacer("IN", j.path("in"), "WORK", j.path("work")).Replace(a))
				}
				out := j.does(t, append(j.granted(c.profile), c.more...), argv...)
				if !strings.Contains(out, c.says) {
					t.Errorf("no %q in %s", c.says, out)
				}
				if _, err := os.Stat(j.path(c.makes)); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	})
}
