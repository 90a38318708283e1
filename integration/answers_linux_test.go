//go:build linux

package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/questions"
)

// wonders runs a host with an extension that asks.
func wonders(t *testing.T, version string, q vscode.Questions) (*supervisor.Supervisor, *supervisor.Host, *questions.Service) {
	sup, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, Folders: []string{filepath.Join("testdata", "vscode", "wonders")}, State: filepath.Join(t.TempDir(), "state"), Questions: q,
		})
	}))
	ready(t, h)
	svc, err := questions.Of(h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return sup, h, svc
}

// Questions are decided by the first rule that matches; an answer that cannot be given is a
// dismissal.
func TestQuestionsAreAnsweredByRules(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, _ := wonders(t, version, vscode.Questions{Rules: []vscode.QuestionRule{
			{Text: "delete*", Extension: "acme.other", Answer: "No"},
			{Text: "delete*", Extension: "Acme.Wonders", Answer: "Yes"},
			{Text: "*", Extension: "acme.other", Answer: "No"},
			{Text: "really?: all of it", Answer: "Yes"},
			{Text: "which letter", Answer: "b"},
			{Text: "which letters", Answer: "d"},
			{Text: "several letters", Answer: "b"},
			{Text: "your name", Answer: ""},
			{Text: "a port", Answer: "http"},
			{Text: "the password", Answer: "hunter2"},
			{Text: "Take", Answer: "/srv/a"},
			{Text: "where to", Answer: "b"},
			{Text: "pick one", Answer: "y"},
			{Text: "a box", Answer: "bad"},
			{Text: "first", Answer: "1"},
			{Text: "sec*", Answer: "2"},
			{Text: "cancel*", Dismiss: true},
		}})
		for _, tt := range []struct{ name, want, says string }{
			{"message", "Yes", `Wonders asked with a message of kind warning: delete it?: "Yes", "No": answered with "Yes" by the configuration`},
			{"detail", "Yes", `Wonders asked with a message of kind error: really?: all of it: "Yes", "Keep": answered with "Yes" by the configuration`},
			{"list", "2", `the list "which letter" of an extension: answered with "b" by the configuration`},
			{"many", "<nil>", `the list "which letters" of an extension was dismissed, because the answer of the configuration cannot be given: the answer does not fit: "d" is not one of the items`},
			{"several", "[b]", `the list "several letters" of an extension: answered with "b" by the configuration`},
			{"input", "", `the input box "your name" of an extension: answered by the configuration`},
			{"checked", "<nil>", `the input box "a port" of an extension was dismissed, because the answer of the configuration cannot be given: the answer does not fit: digits expected, not http`},
			{"password", "hunter2", `the input box "the password" of an extension: answered by the configuration`},
			{"open", "[/srv/a]", `the dialog to open a file "Take" of an extension: answered with "/srv/a" by the configuration`},
			{"save", "<nil>", `the dialog to save a file "where to" of an extension was dismissed, because the answer of the configuration cannot be given: the answer does not fit: "b" is not an absolute path`},
			{"picker", "[y]", `the list "pick one" of an extension: answered with "y" by the configuration`},
			{"box", "hidden", `the input box "a box" of an extension was dismissed, because the extension does not accept the answer of the configuration`},
			{"steps", "[1 2]", `the input box "second" of an extension: answered by the configuration`},
			{"canceled", "<nil>", `the list "canceled" of an extension was dismissed, because the configuration says so`},
			{"broken", "no items", `the list "broken" of an extension was dismissed, because there is no user`},
		} {
			var got any
			if err := executes(t, h, &got, "wonders.ask", tt.name); err != nil || fmt.Sprint(got) != tt.want {
				t.Errorf("%s: %v, %v", tt.name, got, err)
			}
			if all := messages(sup); len(all) == 0 || all[len(all)-1] != tt.says {
				t.Errorf("%s: %q", tt.name, all[max(0, len(all)-2):])
			}
		}
		for _, m := range messages(sup) {
			if strings.Contains(m, "hunter2") {
				t.Error(m)
			}
		}
	})
}

// Clients answer questions, each once; a life that ends withdraws its questions.
func TestQuestionsAreAnsweredByClients(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := wonders(t, version, vscode.Questions{Ask: true, Rules: []vscode.QuestionRule{{Text: "which letters", Dismiss: true}}})
		asked := func(name, key string) (q questions.Question) {
			t.Helper()
			if err := executes(t, h, nil, "wonders.begin", name, key); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				all := svc.Questions(h.Name())
				if len(all) > 0 {
					q = all[len(all)-1]
				}
				return len(all) == 1 && (name != "picker" || len(q.Items) > 0)
			}, "the question ", name)
			return q
		}
		answers := func(key, want string) {
			t.Helper()
			var got map[string]any
			eventually(t, func() bool {
				clear(got)
				err := executes(t, h, &got, "wonders.answers")
				_, has := got[key]
				return err == nil && has
			}, "the answer of ", key)
			if fmt.Sprint(got[key]) != want {
				t.Errorf("%s: %v, want %s", key, got[key], want)
			}
		}
		for _, tt := range []struct {
			name, want string // of the question
			wrong      []string
			right      []string
			answer     string
		}{
			{"message", "acme.wonders message delete it? [Yes No] false false", []string{"Perhaps"}, []string{"No"}, "No"},
			{"list", "acme.wonders list which letter [a b] false false", []string{"letters"}, []string{"a"}, "1"},
			{"checked", "acme.wonders input a port [] false false", []string{"http"}, []string{"80"}, "80"},
			{"password", "acme.wonders input the password [] false true", []string{"abc"}, []string{"hunter2"}, "hunter2"},
			{"open", "acme.wonders open Take [] true false", []string{"/a", "b"}, []string{"/a", "/b"}, "[/a /b]"},
			{"save", "acme.wonders save where to [] false false", []string{"/a", "/b"}, []string{"/a"}, "/a"},
			{"picker", "acme.wonders list pick one [x y] false false", []string{"z"}, []string{"x"}, "[x]"},
			{"box", "acme.wonders input a box [] false false", nil, []string{"good"}, "good"},
		} {
			q := asked(tt.name, tt.name)
			if got := fmt.Sprint(q.Extension, " ", q.Kind, " ", q.Text, " ", q.Items, " ", q.Many, " ", q.Password); got != tt.want || q.Host != h.Name() || q.Until.Sub(q.Asked) != questions.DefaultWait {
				t.Errorf("%s: %+v", tt.name, q)
			}
			if tt.wrong != nil {
				if err := svc.Answer(ctx(t), q.ID, tt.wrong...); !errors.Is(err, questions.ErrAnswer) || strings.Contains(err.Error(), "abc") {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
			if err := svc.Answer(ctx(t), q.ID, tt.right...); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if err := errors.Join(svc.Answer(ctx(t), q.ID, tt.right...), svc.Dismiss(q.ID)); !errors.Is(err, questions.ErrNoQuestion) {
				t.Errorf("%s was answered twice: %v", tt.name, err)
			}
			answers(tt.name, tt.answer)
		}

		// An input box asks once more when the extension does not accept a text, and for a next step.
		q := asked("box", "again")
		if err := svc.Answer(ctx(t), q.ID, "bad"); err != nil {
			t.Error(err)
		}
		eventually(t, func() bool {
			all := svc.Questions("")
			return len(all) == 1 && all[0].Text == "a box: not this one"
		}, "the objection")
		if err := svc.Dismiss(svc.Questions("")[0].ID); err != nil {
			t.Error(err)
		}
		answers("again", "hidden")
		q = asked("steps", "steps")
		if err := svc.Answer(ctx(t), q.ID, "1"); err != nil {
			t.Error(err)
		}
		eventually(t, func() bool {
			all := svc.Questions("")
			return len(all) == 1 && all[0].Text == "second"
		}, "the second step")
		if err := svc.Answer(ctx(t), svc.Questions("")[0].ID, "2"); err != nil {
			t.Error(err)
		}
		answers("steps", "[1 2]")

		// Rules are first; items that cannot be made and an extension that does not ask any more end a question.
		for name, want := range map[string]string{"many": "<nil>", "broken": "no items", "canceled": "<nil>"} {
			var got any
			if err := executes(t, h, &got, "wonders.ask", name); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		eventually(t, func() bool {
			return slices.Contains(messages(sup), `the list "canceled" of an extension was dismissed, because the extension does not ask any more`)
		}, "the end of the canceled question")

		asked("message", "last")
		if err := executes(t, h, nil, "wonders.begin", "box"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.Questions("")) == 2 }, "two questions")
		signal(t, h, syscall.SIGKILL)
		if err := h.Wait(ctx(t), lifecycle.Running); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.Questions("")) == 0 }, "that the questions are withdrawn")
		said := messages(sup)
		for _, want := range []string{
			`Wonders asked with a message of kind warning: delete it?: "Yes", "No": dismissed, because its host has ended`,
			`the input box "a box" of an extension was dismissed, because its host has ended`,
			`the input box "the password" of an extension: answered by a client`,
		} {
			if !slices.Contains(said, want) {
				t.Errorf("no %q in\n%s", want, strings.Join(said, "\n"))
			}
		}
		if all := strings.Join(said, "\n"); strings.Contains(all, "hunter2") {
			t.Error(all)
		}
	})
}

// A question that no client answers is dismissed in the end, and no more than 100 are open.
func TestQuestionsEnd(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := wonders(t, version, vscode.Questions{Ask: true, Wait: 500 * time.Millisecond})
		var got any
		if err := executes(t, h, &got, "wonders.ask", "detail"); err != nil || got != "Keep" {
			t.Errorf("%v, %v", got, err)
		}
		if err := executes(t, h, &got, "wonders.ask", "picker"); err != nil || got != "hidden" {
			t.Errorf("%v, %v", got, err)
		}
		if all := svc.Questions(""); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		said := messages(sup)
		for _, want := range []string{
			`Wonders asked with a message of kind error: really?: all of it: "Yes", "Keep": answered with "Keep", as if it was closed, because no client answered in 500ms`,
			`the list "pick one" of an extension was dismissed, because no client answered in 500ms`,
		} {
			if !slices.Contains(said, want) {
				t.Errorf("no %q in\n%s", want, strings.Join(said, "\n"))
			}
		}
	})
}

// The control API has the questions of all hosts.
func TestQuestionsOverTheControlAPI(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := wonders(t, version, vscode.Questions{Ask: true})
		tree := control.Over(sup)
		if err := executes(t, h, nil, "wonders.begin", "message", "message"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.Questions("")) == 1 }, "the question")
		for _, host := range []string{"", h.Name()} {
			if all, err := tree.Questions(host); err != nil || len(all) != 1 || all[0].Text != "delete it?" {
				t.Errorf("%+v, %v", all, err)
			}
		}
		if _, err := tree.Questions("nobody"); !errors.Is(err, supervisor.ErrNoHost) {
			t.Error(err)
		}
		id := svc.Questions("")[0].ID
		if err := tree.AnswerQuestion(ctx(t), id, []string{"Perhaps"}, false); !errors.Is(err, questions.ErrAnswer) {
			t.Error(err)
		}
		if err := tree.AnswerQuestion(ctx(t), id, nil, true); err != nil {
			t.Error(err)
		}
		if err := tree.AnswerQuestion(ctx(t), id, []string{"Yes"}, false); !errors.Is(err, questions.ErrNoQuestion) {
			t.Error(err)
		}
	})
}
