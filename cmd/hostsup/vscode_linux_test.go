//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hostsup/hostsup/internal/require"
)

// TestScriptsVSCode runs scripts with the real extension host of VS Code, which is
// $BOOTSTRAP, on $NODE.
func TestScriptsVSCode(t *testing.T) {
	bootstrap, err := filepath.Abs("../../.cache/peers/node_modules/code-server/lib/vscode/out/bootstrap-fork.js")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(bootstrap)
	}
	if err != nil {
		require.Missing(t, "%v; ./test peers installs it", err)
	}
	params := scripts("vscode")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("EXECUTE", "ExtHostCommands.$executeContributedCommand")
		env.Setenv("NODE", node)
		env.Setenv("BOOTSTRAP", bootstrap)
		return setup(env)
	}
	testscript.Run(t, params)
}
