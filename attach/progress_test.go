package attach

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// Progress goes to the client whose request it is about, whatever it consists of, and
// to nobody when that request was answered.
func TestProgressed(t *testing.T) {
	h := &Hub{tokens: map[string]token{}, works: map[string]work{}}
	a := &client{number: 1}
	var names []string
	h.rename(a, codec.Raw(`{"workDoneToken":7}`), &names, "workDoneToken")
	told := func(value string, to *client, want string) {
		t.Helper()
		who, got := h.progressed(codec.Raw(`{"token":"` + names[0] + `","value":` + value + `}`))
		if who != to || string(got) != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	for _, value := range []string{`[{"uri":"u"}]`, `null`, `3`, `{"items":[]}`, `{"kind":"begin","title":"x"}`, `{"kind":"report"}`} {
		told(value, a, `{"token":7,"value":`+value+`}`)
	}
	if len(h.works) != 1 {
		t.Errorf("%d works have begun", len(h.works))
	}
	told(`{"kind":"end"}`, a, `{"token":7,"value":{"kind":"end"}}`)
	if len(h.works) != 0 {
		t.Error("a work that has ended goes on")
	}
	h.forget(names)
	told(`[]`, nobody, "")
	for _, raw := range []string{`{"token":"theirs","value":{"kind":"begin"}}`, `{"token":1,"value":[]}`, `[]`, `{}`} {
		if who, got := h.progressed(codec.Raw(raw)); who != nil || string(got) != raw {
			t.Errorf("%s is told as %s", raw, got)
		}
	}
	for i := range maxProgress + 1 {
		h.progressed(codec.Raw(`{"token":` + string(encode(i)) + `,"value":{"kind":"begin"}}`))
	}
	if len(h.works) != maxProgress {
		t.Errorf("%d works are kept", len(h.works))
	}
}

func TestOwnToken(t *testing.T) {
	h := &Hub{tokens: map[string]token{}}
	a := &client{number: 1}
	var names []string
	h.rename(a, codec.Raw(`{"workDoneToken":"x"}`), &names, "workDoneToken")
	if got := string(h.ownToken(a, codec.Raw(`{"token":"x"}`))); got != `{"token":"`+names[0]+`"}` {
		t.Error(got)
	}
	if got := string(h.ownToken(&client{number: 2}, codec.Raw(`{"token":"x"}`))); got != `{"token":"x"}` {
		t.Error(got)
	}
}
