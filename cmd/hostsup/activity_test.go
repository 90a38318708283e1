package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/workbench/status"
)

func shownByExtensions(at time.Time) status.State {
	percent := 40.4
	return status.State{
		Entries: []status.Entry{
			{Host: "ts", Extension: "vscode.git", Kind: status.Bar, Name: "Git", Text: "main*", Since: at},
			{Host: "ts", Kind: status.Bar, Name: "Bell", Severity: "warning", Since: at},
			{Host: "ts", Extension: "Go", Kind: status.Language, Name: "gopls", Text: "loading\x1b", Busy: true, Since: at},
		},
		Progress: []status.Progress{
			{ID: "p7xk2m4a", Host: "ts", Extension: "acme.index", Title: "Indexing", Message: "src", Percent: &percent, Location: "notification", Started: at, Cancelable: true, Canceled: true},
			{ID: "q2xk2m4a", Host: "ts", Extension: "acme.index", Location: "window", Started: at},
		},
	}
}

func TestActivityOutput(t *testing.T) {
	fake(t)
	for _, tt := range []struct{ args, want string }{
		{"activity", "HOST  EXTENSION   KIND      ID        SHOWS\n" +
			"ts    acme.index  progress  p7xk2m4a  Indexing: src 40 % (canceled)\n" +
			"ts    acme.index  progress  -         -\n" +
			"ts    vscode.git  bar       -         main*\n" +
			"ts    -           bar       -         warning: Bell\n" +
			"ts    Go          language  -         loading\\x1b (busy)\n"},
		{"__complete activity --cancel ", "p7xk2m4a\tIndexing: src 40 % (canceled)\n:4\n"},
		{"__complete activity ", "ts\n:4\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

func TestCancelProgress(t *testing.T) {
	fake(t)
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"activity --cancel p7xk2m4a", 0, ""},
		{"activity --cancel q2xk2m4a", 2, `the progress cannot be canceled: "q2xk2m4a"`},
		{"activity --cancel x", 1, `no such progress: "x"`},
		{"activity ts --cancel p7xk2m4a", 2, "--cancel expects the ID of a progress, and no host"},
		{"activity --cancel=", 2, "--cancel expects the ID of a progress, and no host"},
		{"activity db", 1, `host "db" has no status and no progress`},
		{"activity tss", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}
