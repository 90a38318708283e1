//go:build linux

package integration

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// The extension host of VS Code does its work confined by the profile for it, with
// nothing added but the folder that it works on: in both builds, as root and as an
// ordinary user.
func TestVSCodeProfile(t *testing.T) {
	t.Parallel()
	observable(t)
	npm(t, "code-server")
	require.Codex(t) // the page shows a host that runs it
	old := releases["1.100.3"]
	for version, r := range releases {
		node, err := filepath.Abs(peer(t, r.node...))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			users(t, func(t *testing.T, uid int) {
				g := newGround(t, uid)
				hosts := g.hosts()
				code := hosts[slices.IndexFunc(hosts, func(h realHost) bool { return h.name == "code" })]
				block := regexp.MustCompile(`(?ms)^host "code" \{\n.*?^\}\n`).FindString(g.blocks)
				for _, c := range [][2]string{
					{"profile = \"strict\"\n    jit     = true\n", "profile = \"vscode-extensions\"\n    exec    = [\"" + node + "\"]\n"},
					{`"/usr/bin/node"`, `"` + node + `"`},
					{strings.TrimPrefix(old.root, peerDir), strings.TrimPrefix(r.root, peerDir)},
				} {
					if !strings.Contains(block, c[0]) {
						t.Fatalf("there is no %s in %s", c[0], block)
					}
					block = strings.ReplaceAll(block, c[0], c[1])
				}
				config := g.config(t, "profile.hcl", block)
				if v := hostsupAs(t, uid, g.dir, "validate", "-c", config); v.code != 0 || v.err != "" {
					t.Fatalf("validate: %+v", v)
				}
				pid, stop := serves(t, uid, g.dir, config)
				g.checkHost(t, code)
				stop()
				g.checkLeftovers(t, pid)
			})
		})
	}
}
