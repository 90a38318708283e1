package terminals

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A shell takes each word as one argument, with the text that was meant.
func TestWordsAreWhatAShellReads(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	for _, text := range []string{"plain", "", "a b", "it's", `"quoted"`, "$HOME", "`x`", `back\slash`, "a;b|c>d&e", "*", "~", "ü", "#", "!"} {
		for _, quoting := range []int{quoteEscape, quoteStrong} {
			if quoting == quoteEscape && text == "" {
				continue // there is nothing to escape, and no word
			}
			raw, err := json.Marshal(map[string]any{"value": text, "quoting": quoting})
			if err != nil {
				t.Fatal(err)
			}
			w, err := word(raw, false)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(sh, "-c", `f() { printf '%s/%s' $# "$1"; }; f `+w).Output()
			if string(out) != "1/"+text || err != nil {
				t.Errorf("%q with %d is %s, which a shell reads as %q, %v", text, quoting, w, out, err)
			}
		}
	}
	for raw, want := range map[string]string{
		`"a b"`: "'a b'", `""`: "''", `"$X"`: "$X", `{"value":"$X \"y\"","quoting":3}`: `"$X \"y\""`, `{"value":"a b"}`: "a b",
	} {
		if got, err := word(json.RawMessage(raw), false); got != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", raw, got, err, want)
		}
	}
	if got, _ := word(json.RawMessage(`"make -j2"`), true); got != "make -j2" {
		t.Errorf("a command was quoted: %s", got)
	}
	if _, err := word(json.RawMessage(`7`), false); err == nil {
		t.Error("a number was taken for a word")
	}
}

func TestEnvironments(t *testing.T) {
	text := func(s string) *string { return &s }
	given := []string{"PATH=/bin", "HOME=/h", "PATHS=x"}
	got := environOf(map[string]*string{"HOME": nil, "PATH": text("/usr/bin")}, false)(given)
	if want := []string{"PATHS=x", "TERM=xterm-256color", "PATH=/usr/bin"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := environOf(map[string]*string{"TERM": text("dumb")}, true)(given); !slices.Equal(got, []string{"TERM=dumb"}) {
		t.Errorf("%q", got)
	}
	got = applied(map[string][]change{
		"b.b": {{"PATH", ":/b", 2}}, "a.a": {{"PATH", "/a:", 3}, {"NEW", "n", 1}, {"HOME", "", 1}},
	}, given)
	slices.Sort(got)
	if want := []string{"HOME=", "NEW=n", "PATH=/a:/bin:/b", "PATHS=x"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !slices.Equal(given, []string{"PATH=/bin", "HOME=/h", "PATHS=x"}) {
		t.Errorf("what was given has changed: %q", given)
	}
}

// A rune that comes in two reads is sent whole, and bytes that are no text are not held back.
func TestPartialRunes(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "ü": 0, "a\xc3": 1, "\xe2\x82": 2, "\xf0\x9f\x98": 3, "😀": 0, "\xbc\xbc\xbc\xbc": 0, "a\xff": 0} {
		if got := partial([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var o tail
	var all strings.Builder
	for i := range 5000 {
		line := strings.Repeat(string(rune('a'+i%26)), i%97) + "\n"
		o.add([]byte(line))
		all.WriteString(line)
		if len(o.kept) > 2*maxTail {
			t.Fatalf("%d bytes are kept", len(o.kept))
		}
	}
	if want := all.String()[all.Len()-maxTail:]; string(o.bytes()) != want {
		t.Error("the end is another")
	}
}

func TestTasksHaveIDs(t *testing.T) {
	one := json.RawMessage(`{"name":"one","definition":{"type":"x","b":1,"a":2},"source":{"label":"s","scope":1},"execution":{"process":"a"}}`)
	same := json.RawMessage(`{"source":{"scope":1,"label":"s"},"definition":{"a":2,"b":1,"type":"x"},"name":"one","execution":{"process":"b"}}`)
	other := json.RawMessage(`{"name":"two","definition":{"type":"x"},"source":{"label":"s","scope":1}}`)
	if idOf(one) == "" || idOf(one) != idOf(same) || idOf(one) == idOf(other) {
		t.Errorf("%s %s %s", idOf(one), idOf(same), idOf(other))
	}
	if got := withID(one); idOf(got) != idOf(one) || !strings.Contains(string(got), `"_id":"`+idOf(one)+`"`) {
		t.Errorf("%s", got)
	}
	if idOf(json.RawMessage(`{"_id":"x","name":"one"}`)) != "x" {
		t.Error("the id of a task was replaced")
	}
}
