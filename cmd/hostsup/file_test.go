package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/scm"
)

func filesOfExtensions(at time.Time) controltest.Files {
	return controltest.Files{
		Decorations: []fileinfo.Decoration{
			{URI: "file:///srv/a%20b", Host: "ts", Extension: "vscode.git", Badge: "M", Tooltip: "Modified\x1b"},
			{URI: "file:///srv/c", Host: "ts", Extension: "acme.marks"},
		},
		Moments: []fileinfo.Moment{
			{Host: "ts", Source: "Git History", Time: at, Label: "first\x1b", Description: "A"},
			{Host: "ts", Source: "Local", Time: at, Label: "saved"},
		},
		Originals: []scm.Original{{Control: "ts.1.0", Host: "ts", Label: "Git", URI: "git:/srv/a", Text: new("one\ntwo")}},
	}
}

func TestFileOutput(t *testing.T) {
	fake(t)
	for _, tt := range []struct{ args, want string }{
		{"file decorations|/srv/a b|/srv/c|/srv/d", "FILE      BADGE  EXTENSION   SAYS\n/srv/a b  M      vscode.git  Modified\\x1b\n/srv/c    -      acme.marks  -\n"},
		{"file timeline|/srv/x", "SOURCE       WHAT       WHO\nGit History  first\\x1b  A\nLocal        saved      -\n"},
		{"file timeline|/srv/x|-n|1", "SOURCE       WHAT       WHO\nGit History  first\\x1b  A\n"},
		{"file original|/srv/a|--host|ts", "one\ntwo"},
	} {
		var args []string
		for i, part := range strings.Split(tt.args, "|") {
			if i == 0 {
				args = strings.Fields(part)
				continue
			}
			args = append(args, part)
		}
		got := hostsupRun(t, "", args...).out
		if args[1] == "timeline" { // without the times, which depend on the zone
			lines := strings.Split(got, "\n")
			for i, line := range lines {
				lines[i] = line[min(len(line), len("2026-03-01 12:00:00.000  ")):]
			}
			got = strings.Join(lines, "\n")
		}
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"file", 2, "decorations, timeline or original is missing"},
		{"file x", 2, `"x" is not decorations, timeline or original`},
		{"file timeline x -n 0", 2, "--number expects 1 or more"},
		{"file timeline x -n 10001", 0, ""},
		{"file decorations", 2, "FILE… is missing"},
		{"file decorations " + filepath.Join("/srv", "d"), 0, "no extension decorates the files"},
		{"file original a b", 2, `"b" is too much`},
		{"file original a --host db", 1, `host "db" cannot be asked about files`},
		{"file original a --host tss", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}
