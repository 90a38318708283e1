package main

import (
	"strings"
	"testing"
)

// What does not work on a system is said in one line, with what does.
func TestUnsupportedVerbsSayWhatWorks(t *testing.T) {
	tests := []struct {
		verb, goos string
		want       []string // parts of the message; none: it works
	}{
		{"run", "linux", nil},
		{"run", "darwin", nil},
		{"exec-server", "darwin", nil},
		{"sandbox run", "darwin", nil}, // a policy that accepts level none
		{"sandbox explain", "linux", nil},
		{"run", "windows", []string{"hostsup run does not support windows: ", "validate --elsewhere", "--url and --token-file"}},
		{"exec-server", "windows", []string{"hostsup exec-server does not support windows: ", "exec --url"}},
		{"sandbox run", "windows", []string{"hostsup sandbox run does not support windows: "}},
		{"sandbox explain", "darwin", []string{"hostsup sandbox explain cannot run a command on darwin: ", "--policy without a command and --diff"}},
	}
	for _, tt := range tests {
		err := unsupported(tt.verb, tt.goos)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s on %s: %v", tt.verb, tt.goos, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s on %s: %v, want %q in one line", tt.verb, tt.goos, err, part)
			}
		}
	}
	// What the message names exists.
	for _, verb := range strings.Split("validate --elsewhere, init, doctor, version, completion, exec --url", ", ") {
		if !strings.Contains(elsewhere, verb) {
			t.Errorf("the message does not name %s", verb)
		}
		if wrong := unknownIn(strings.Fields(verb)); len(wrong) > 0 {
			t.Errorf("%s: %q", verb, wrong)
		}
	}
}
