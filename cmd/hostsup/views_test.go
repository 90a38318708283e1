package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/views"
)

func treesOfExtensions() []views.Tree {
	yes, no := true, false
	return []views.Tree{
		{
			View: views.View{Host: "ts", ID: "acme.tests", Title: "Tests", Message: "2 failed\x1b", Badge: &views.Badge{Value: 2, Tooltip: "failed"}, Visible: true, Selection: []string{"0/0:unit/0:adds"}},
			Items: []views.Item{
				{Handle: "0/0:unit", Label: "unit", Description: "1 s", State: views.Expanded, Tooltip: "all units", Items: []views.Item{
					{Handle: "0/0:unit/0:adds", Label: "adds", State: views.Leaf, Checked: &yes},
					{Handle: "0/0:unit/1:fails", Label: "fails\x1b", State: views.Leaf, Checked: &no},
				}},
				{Handle: "0/1:slow", Label: "slow", State: views.Collapsed},
			},
			Truncated: true,
		},
		{View: views.View{Host: "ts", ID: "npm"}},
	}
}

// noCommands refuses to execute commands.
func noCommands(view string, action views.Action, items []string) error {
	if action == views.Run {
		return fmt.Errorf("%w: %s %s %s", views.ErrAction, view, action, strings.Join(items, ","))
	}
	return nil
}

func TestViewsOutput(t *testing.T) {
	fake(t)
	for _, tt := range []struct{ args, want string }{
		{"views", "HOST  VIEW        VISIBLE  SHOWS\n" +
			"ts    acme.tests  yes      Tests 2 failed\\x1b (2 failed)\n" +
			"ts    npm         no       -\n"},
		{"views ts acme.tests", "Tests 2 failed\\x1b (2 failed)\n" +
			"- unit 1 s\n" +
			"    [x] adds (selected)\n" +
			"    [ ] fails\\x1b\n" +
			"+ slow\n…\n"},
		{"views ts acme.tests --item 0/0:unit --handles", "unit 1 s all units\n" +
			"  [x] adds (selected)  0/0:unit/0:adds\n" +
			"  [ ] fails\\x1b  0/0:unit/1:fails\n"},
		{"views ts npm --json", "{\n  \"view\": {\n    \"host\": \"ts\",\n    \"id\": \"npm\",\n    \"visible\": false\n  },\n  \"items\": []\n}\n"},
		{"__complete views ts ", "acme.tests\tTests 2 failed\\x1b (2 failed)\nnpm\n:4\n"},
		{"__complete views ", "ts\n:4\n"},
		{"__complete views ts npm --do ", "show\nhide\nexpand\ncollapse\nselect\ncheck\nuncheck\nrun\n:4\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

func TestActionsInViews(t *testing.T) {
	fake(t)
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"views ts npm --do show", 0, ""},
		{"views ts acme.tests --do select --item 0/0:unit --item 0/1:slow", 0, ""},
		{"views ts acme.tests --do run --item 0/0:unit --item 0/1:slow", 2, "the view cannot do this: acme.tests run 0/0:unit,0/1:slow"},
		{"views ts acme.tests --do run --item x", 1, `no such item: "x"`},
		{"views ts other", 1, `no such view: "other"`},
		{"views ts npm --do=", 2, "--do expects one of show, hide"},
		{"views ts npm --item a --item b", 2, "one --item is expected without --do"},
		{"views ts npm --depth -1", 2, "--depth expects 0 or more"},
		{"views ts --do show", 2, "--do expects a HOST and a VIEW"},
		{"views db", 1, `host "db" has no views`},
		{"views tss", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}
