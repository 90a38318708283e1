package vscode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/vscode"
)

// A host is told where node opens its inspector, unless somebody has said so
// already or it is not started by node.
func TestArguments(t *testing.T) {
	t.Parallel()
	const script = "/opt/vs/out/bootstrap-fork.js"
	for _, tt := range []struct{ command, options, want string }{
		{"node " + script + " --type=extensionHost", "", "node --inspect-port=0 --inspect-publish-uid=stderr " + script + " --type=extensionHost"},
		{"/usr/bin/env /x/node --expose-gc " + script, "--no-warnings", "/usr/bin/env /x/node --expose-gc --inspect-port=0 --inspect-publish-uid=stderr " + script},
		{"node --inspect=9000 " + script, "", ""},
		{"node --debug-port=9000 " + script, "", ""},
		{"node " + script, "--inspect-port=127.0.0.1:9000", ""},
		{"sh " + script, "", ""},
		{"electron " + script, "", ""},
		{"node other.js", "", ""},
		{script, "", ""},
		{script + " node", "", ""},
	} {
		command := strings.Fields(tt.command)
		got := vscode.New(vscode.Options{}).Arguments(command, map[string]string{"NODE_OPTIONS": tt.options})
		want := tt.want
		if want == "" {
			want = tt.command
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s with %q: %q", tt.command, tt.options, got)
		}
		if !slices.Equal(command, strings.Fields(tt.command)) {
			t.Errorf("%s was changed: %q", tt.command, command)
		}
	}
}
