package questions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A host that says much has 100 events at once and one more each second; the next event tells how many
// were left out. Another host has its own.
func TestEventsAreBounded(t *testing.T) {
	var said []string
	s := New(Options{Report: func(host, text string) { said = append(said, host+" "+text) }})
	at := time.Unix(1000, 0)
	s.now = func() time.Time { return at }
	for i := range perHost + 30 {
		s.say("one", "%d", i)
	}
	s.say("two", "x")
	if len(said) != perHost+1 || said[perHost-1] != fmt.Sprintf("one %d", perHost-1) || said[perHost] != "two x" {
		t.Fatalf("%d: %q", len(said), said)
	}
	at = at.Add(time.Second)
	s.say("one", "again")
	s.say("one", "lost")
	at = at.Add(time.Second)
	s.say("one", "more")
	want := []string{"one again (30 more came too fast and were left out)", "one more (1 more came too fast and were left out)"}
	if got := said[perHost+1:]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
}

func TestTextsAreShort(t *testing.T) {
	if got := short(" a\n\tb  c "); got != "a b c" {
		t.Errorf("%q", got)
	}
	got := short(strings.Repeat("ü", maxText))
	if !utf8.ValidString(got) || len(got) > maxText+len(" …") || !strings.HasSuffix(got, "ü …") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-10:])
	}
}

func TestQuestionsAreNamed(t *testing.T) {
	for want, a := range map[string]asked{
		`"t"`: {Title: "t", Prompt: "p"}, `"p"`: {Prompt: "p", PlaceHolder: "h"}, `"h"`: {PlaceHolder: "h"}, `"o"`: {OpenLabel: "o"}, `"s"`: {SaveLabel: "s"},
		"without a title": {},
	} {
		if got := a.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"*", "", true}, {"", "a", false},
		{"a*a", "a", false}, {"a*b*c", "a1b2c", true}, {"a*b*c", "a1c2b", false}, {"*b*", "abc", true}, {"*b*b*", "abc", false}, {"a**c", "ac", true},
	} {
		if got := matches(tt.pattern, tt.text); got != tt.want {
			t.Errorf("%q, %q: %v", tt.pattern, tt.text, got)
		}
	}
}

// A host has at most 100 open questions; each is settled once, by whoever is first.
func TestOpenQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		s := New(Options{Questions: vscode.Questions{Ask: true}, Report: func(_, text string) { said = append(said, text) }})
		q := func(host string) *question {
			return &question{host: host, kind: Input, what: "the box", text: "name", check: func(_ context.Context, values []string) (any, error) { return values[0], nil }}
		}
		results := make(chan outcome, 200)
		for range maxOpen {
			go func() { results <- s.resolve(t.Context(), q("one")) }()
		}
		synctest.Wait()
		if out := s.resolve(t.Context(), q("one")); out.answered {
			t.Errorf("%+v", out)
		}
		go func() { results <- s.resolve(t.Context(), q("two")) }()
		synctest.Wait()
		if n, one, two := len(s.Questions("")), len(s.Questions("one")), s.Questions("two"); n != maxOpen+1 || one != maxOpen || len(two) != 1 {
			t.Fatalf("%d, %d, %d", n, one, len(two))
		}
		id := s.Questions("two")[0].ID
		given := make(chan error, 10)
		for i := range cap(given) {
			go func() { given <- s.Answer(t.Context(), id, fmt.Sprint(i)) }()
		}
		late := 0
		for range cap(given) {
			if err := <-given; errors.Is(err, ErrNoQuestion) {
				late++
			} else if err != nil {
				t.Error(err)
			}
		}
		if out := <-results; late != cap(given)-1 || !out.answered {
			t.Errorf("%d were late, %+v", late, out)
		}
		time.Sleep(DefaultWait) //nolint:forbidigo // in a synctest bubble
		synctest.Wait()
		for range maxOpen {
			if out := <-results; out.answered {
				t.Errorf("%+v", out)
			}
		}
		if left := s.Questions(""); len(left) != 0 || len(said) == 0 {
			t.Errorf("%+v, %q", left, said)
		}
	})
}

func TestLabelsWithoutIcons(t *testing.T) {
	labels := []string{"$(git-branch) main", "$(tag) v1", "$(git-branch) v1", "$(sync~spin) Fetch", "plain"}
	for label, want := range map[string]int{"main": 0, "$(tag) v1": 1, "Fetch": 3, "plain": 4, "v1": -1, "other": -1, "": -1} {
		i, err := chosen(labels, label)
		if want < 0 && !errors.Is(err, ErrAnswer) || want >= 0 && (i != want || err != nil) {
			t.Errorf("%q: %d, %v, want %d", label, i, err, want)
		}
	}
}

// What the editor asks on behalf of a task is answered by rules, as what extensions ask.
func TestQuestionOfTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Questions: vscode.Questions{Rules: []vscode.QuestionRule{{Text: "how loud", Answer: "Loud"}, {Text: "who", Answer: "you"}}}, Report: func(string, string) {}})
		for want, p := range map[string]Prompt{
			"Loud": {Host: "vs", For: "an input", Text: "how loud", Items: []string{"low", "Loud"}},
			"you":  {Host: "vs", For: "an input", Text: "who"},
		} {
			if got, ok := s.Ask(t.Context(), p); got != want || !ok {
				t.Errorf("%+v: %q, %v", p, got, ok)
			}
		}
		for _, p := range []Prompt{{Host: "vs", Text: "how loud", Items: []string{"low"}}, {Host: "vs", Text: "another"}} {
			if got, ok := s.Ask(t.Context(), p); ok {
				t.Errorf("%+v: %q", p, got)
			}
		}
	})
}
