//go:build linux

package integration

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// What extensions say to a user is an event, and what they ask is dismissed with one: no question
// stays open.
func TestQuestions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
			root, _ := vscode.Root(s.Command)
			s.Protocol = vscode.New(vscode.Options{
				Root: root, Folders: []string{filepath.Join("testdata", "vscode", "asks")}, State: filepath.Join(t.TempDir(), "state"),
			})
		}))
		ready(t, h)
		var got map[string]any
		if err := executes(t, h, &got, "asks.all"); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"plain": nil, "choice": nil, "modal": "Keep", "pick": nil, "later": nil, "input": nil, "open": nil, "save": nil, "quick": "hidden", "box": "hidden",
		}
		if !maps.Equal(got, want) {
			t.Errorf("%v", got)
		}
		said := messages(sup)
		wantSaid := []string{
			`Asks: information: the index is ready`,
			`Asks asked with a message of kind warning: delete it?: "Yes", "No": dismissed, because there is no user`,
			`Asks asked with a message of kind error: really?: all of it: "Yes", "Keep": answered with "Keep", as if it was closed, because there is no user`,
			`the list "which letter" of an extension was dismissed, because there is no user`,
			`the list without a title of an extension was dismissed, because there is no user`,
			`the input box "your name" of an extension was dismissed, because there is no user`,
			`the dialog to open a file "Take" of an extension was dismissed, because there is no user`,
			`the dialog to save a file without a title of an extension was dismissed, because there is no user`,
			`the list "one of my own" of an extension was dismissed, because there is no user`,
			`the input box "one of my own" of an extension was dismissed, because there is no user`,
		}
		if !slices.Equal(said, wantSaid) {
			t.Errorf("%s", strings.Join(said, "\n"))
		}

		// What is written to the console is in the log, in order.
		if err := executes(t, h, nil, "asks.console"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			var lines []string
			for _, l := range h.Tail(200) {
				if strings.HasPrefix(l.Text, "console.error: line ") {
					lines = append(lines, l.Text)
				}
			}
			return len(lines) == 100 && slices.IndexFunc(lines, func(l string) bool { return l == `console.error: line 99 {"of":["an","extension"]}` }) == 99
		}, "the console")

		// One that talks without end does not fill the history.
		if err := executes(t, h, nil, "asks.often", 2000); err != nil {
			t.Fatal(err)
		}
		if n := len(messages(sup)); n < 15 || n > 500 {
			t.Errorf("%d events", n)
		}
	})
}

// A list that is dismissed, or answered, while its extension still makes the items is hidden, or accepted,
// when it has them: the extension listens no earlier.
func TestListsAreSettledWhenTheyHaveItems(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for want, rules := range map[string][]vscode.QuestionRule{"hidden": nil, "main": {{Text: "which *", Answer: "main"}}} {
			sup, h := alone(t, edited(t, version, "wonders", func(_ *plan.Spec, o *vscode.Options) { o.Questions.Rules = rules }))
			request(t, sup, "*")
			var got string
			if err := executes(t, h, &got, "wonders.ask", "late"); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	})
}

// A rule with an extension decides a list of it, of which VS Code does not tell who asks, while no other
// extension runs in the host.
func TestRuleForTheOnlyExtension(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for want, more := range map[string][]string{"main": nil, "hidden": {"asks"}} {
			sup, h := alone(t, edited(t, version, "wonders", func(s *plan.Spec, o *vscode.Options) {
				o.Questions.Rules = []vscode.QuestionRule{{Text: "which *", Extension: "Acme.wonders", Answer: "main"}}
				for _, name := range more {
					dir, err := filepath.Abs(filepath.Join("testdata", "vscode", name))
					if err != nil {
						t.Fatal(err)
					}
					s.Folders = append(s.Folders, manifest.Root{Dir: dir})
				}
			}))
			request(t, sup, "*")
			var got string
			if err := executes(t, h, &got, "wonders.ask", "late"); err != nil || got != want {
				t.Errorf("with %v: %q, %v; want %q", more, got, err, want)
			}
		}
	})
}

// messages returns what the events say that extensions have said.
func messages(sup *supervisor.Supervisor) []string { return eventsOf(sup, record.KindMessage) }
