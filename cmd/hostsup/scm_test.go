package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/scm"
)

func sourcesOfExtensions() []scm.Control {
	return []scm.Control{
		{ID: "ts.1.0", Host: "ts", Kind: "git", Label: "Git", Root: "file:///srv/x", Groups: []scm.ResourceGroup{
			{ID: "index", Label: "Staged Changes", Resources: []scm.Resource{{URI: "file:///srv/x/a%20b", State: "Index Modified"}}},
			{ID: "workingTree", Label: "Changes", Resources: []scm.Resource{{URI: "other:/c\x1b"}}},
		}},
		{ID: "ts.1.1", Host: "ts", Label: "Git", Root: "file:///srv/y"},
	}
}

// commits tells what would be written as an error.
func commits(id string, message *string, accept bool) error {
	if message == nil {
		return fmt.Errorf("%w: %s has no message, accept %v", scm.ErrNotAccepted, id, accept)
	}
	return fmt.Errorf("%w: %s has %q, accept %v", scm.ErrNotAccepted, id, *message, accept)
}

func TestSourceControlOutput(t *testing.T) {
	fake(t)
	for _, tt := range []struct{ args, want string }{
		{"scm", "HOST  ID      GROUP           STATE           FILE\n" +
			"ts    ts.1.0  Staged Changes  Index Modified  /srv/x/a b\n" +
			"ts    ts.1.0  Changes         -               other:/c\\x1b\n" +
			"ts    ts.1.1  -               -               /srv/y\n"},
		{"__complete scm --id ", "ts.1.0\tGit file:///srv/x\nts.1.1\tGit file:///srv/y\n:4\n"},
		{"__complete scm ", "ts\n:4\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"scm --id ts.1.0 --message m --accept", 2, `ts.1.0 has "m", accept true`},
		{"scm --id ts.1.0 --message=", 2, `ts.1.0 has "", accept false`},
		{"scm --id ts.1.0 --accept", 2, `ts.1.0 has no message, accept true`},
		{"scm --id x --accept", 1, `no such source control: "x"`},
		{"scm --id ts.1.0", 2, "--id ID with --message or --accept is expected"},
		{"scm --accept", 2, "--id ID with --message or --accept is expected"},
		{"scm ts --id ts.1.0 --accept", 2, "and no host"},
		{"scm db", 1, `host "db" has no source control`},
		{"scm tss", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}
