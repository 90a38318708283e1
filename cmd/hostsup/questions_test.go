package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/workbench/questions"
)

func openQuestions(at time.Time) []questions.Question {
	return []questions.Question{
		{ID: "k3bq7a2x", Host: "ts", Extension: "golang.go", Kind: questions.Message, Text: "Install the tools?", Items: []string{"Yes", "No"}, Asked: at, Until: at.Add(questions.DefaultWait)},
		{ID: "m5cd2w7y", Host: "ts", Kind: questions.Input, Text: "the \x1bpassword", Password: true, Asked: at, Until: at.Add(questions.DefaultWait)},
	}
}

// answersQuestions takes Yes and the password abc, and dismissals.
func answersQuestions(id string, values []string, dismiss bool) error {
	want := map[string]string{"k3bq7a2x": "Yes", "m5cd2w7y": "abc"}[id]
	if dismiss || slices.Equal(values, []string{want}) {
		return nil
	}
	return fmt.Errorf("%w: it is not %q", questions.ErrAnswer, want)
}

func TestAnswer(t *testing.T) {
	fake(t)
	for _, tt := range []struct {
		args, stdin string
		code        int
		says        string // on standard error
	}{
		{"answer k3bq7a2x Yes", "", 0, ""},
		{"answer k3bq7a2x --dismiss", "", 0, ""},
		{"answer m5cd2w7y -", "abc\nxyz\n", 0, ""},
		{"answer m5cd2w7y -", "abc", 0, ""},
		{"answer k3bq7a2x No", "", 2, `the answer does not fit: it is not "Yes"`},
		{"answer x Yes", "", 1, `no such question: "x"`},
		{"answer x", "", 2, "either a VALUE or --dismiss is expected"},
		{"answer x Yes --dismiss", "", 2, "either a VALUE or --dismiss is expected"},
		{"answer", "", 2, "ID"},
		{"questions db", "", 1, `host "db" has no questions`},
		{"questions tss", "", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, tt.stdin, strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}

func TestQuestionsOutput(t *testing.T) {
	fake(t)
	for _, tt := range []struct{ args, want string }{
		{"questions", "ID        HOST  EXTENSION  KIND      QUESTION            ANSWERS\n" +
			"k3bq7a2x  ts    golang.go  message   Install the tools?  Yes | No\n" +
			"m5cd2w7y  ts    -          password  the \\x1bpassword    -\n"},
		{"__complete answer ", "k3bq7a2x\tInstall the tools?\nm5cd2w7y\tthe \\x1bpassword\n:4\n"},
		{"__complete answer k3bq7a2x ", "Yes\nNo\n:4\n"},
		{"__complete answer k3bq7a2x Yes ", ":4\n"},
		{"__complete questions ", "ts\n:4\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}
