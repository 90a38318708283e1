package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
)

func TestChannelVerbs(t *testing.T) {
	git := controltest.NewHost(record.HostStatus{})
	git.Output = []capture.Line{
		{Seq: 1, Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Life: 2, Stream: capture.Stdout, Text: "> git status"},
		{Seq: 2, Stream: capture.Stderr, Text: "fatal"},
	}
	sup := &controltest.Supervisor{
		Members:   []*controltest.Host{controltest.NewHost(record.HostStatus{Name: "ts"}), controltest.NewHost(record.HostStatus{Name: "db"})},
		Units:     []extensions.Status{{Host: "ts", ID: "vscode.git"}},
		Channeled: map[extensions.Channel]*controltest.Host{{Name: "Git", Extension: "vscode.git"}: git, {Name: "Extension Host"}: git},
	}
	t.Setenv("HOSTSUP_SOCKET", controltest.Serve(t, sup, control.Options{Version: "v1"}))
	for _, tc := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"logs", "ts", "--channel", "Git"}, 0, "> git status\nfatal\n", ""},
		{[]string{"logs", "ts", "--channel", "Git", "-n", "1", "--json"}, 0, `{"seq":2,"time":"0001-01-01T00:00:00Z","life":0,"stream":"stderr","text":"fatal"}` + "\n", ""},
		{[]string{"logs", "ts", "--channels"}, 0, "CHANNEL         EXTENSION\nExtension Host  -\nGit             vscode.git\n", ""},
		{[]string{"logs", "ts", "--channel", "Got"}, 1, "", `no output channel "Got"`},
		{[]string{"logs", "db", "--channels"}, 1, "", `host "db" has no output channels: only hosts with protocol "vscode" have some`},
		{[]string{"logs", "nobody", "--channels"}, 5, "", "no host"},
		{[]string{"logs", "ts", "db", "--channels"}, 2, "", "for one host"},
		{[]string{"logs", "ts", "--channels", "-f"}, 2, "", "follows nothing"},
		{[]string{"logs", "ts", "--channel", ""}, 2, "", "is empty"},
		{[]string{"__complete", "logs", "ts", "--channel", ""}, 0, "Extension Host\nGit\tvscode.git\n:4\n", ""},
	} {
		var out, errout strings.Builder
		if code := newApp(nil, &out, &errout).main(t.Context(), tc.args); code != tc.code || tc.code == 0 && out.String() != tc.out || !strings.Contains(errout.String(), tc.err) {
			t.Errorf("%q: exit %d\n%s\n%s", tc.args, code, out.String(), errout.String())
		}
	}
}
