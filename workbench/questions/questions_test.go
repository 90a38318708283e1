package questions

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A host that says much has 20 events at once and one more each second; the next event tells how many
// were left out. Another host has its own.
func TestEventsAreBounded(t *testing.T) {
	var said []string
	s := New(func(host, text string) { said = append(said, host+" "+text) })
	at := time.Unix(1000, 0)
	s.now = func() time.Time { return at }
	for i := range 50 {
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
