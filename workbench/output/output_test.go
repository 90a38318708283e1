package output

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestLines(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"log", `["a",1,{"b":[true,null]}]`}:              `console.log: a 1 {"b":[true,null]}`,
		{"error", `["x",{"__$stack":"at f (a.js:1:2)"}]`}: "console.error: x",
		{"", `[]`}:             "console.log: ",
		{"warn", `no JSON`}:    "console.warn: no JSON",
		{"warn", `"one text"`}: `console.warn: one text`,
	} {
		if got := line(in[0], in[1]); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := line("log", `["`+strings.Repeat("ü", maxLine)+`"]`)
	if !utf8.ValidString(long) || len(long) > maxLine+len(" …") || !strings.HasSuffix(long, "ü …") {
		t.Errorf("%d bytes", len(long))
	}
}

// Lines keep their order; what comes while too much waits is counted.
func TestQueueIsBounded(t *testing.T) {
	s := New()
	var written []string
	begun, goOn := make(chan struct{}), make(chan struct{})
	s.queue.add("first", func(text string) {
		close(begun)
		<-goOn
		written = append(written, text)
	})
	<-begun
	keep := func(text string) { written = append(written, text) }
	big := strings.Repeat("x", maxQueue/4)
	for range 7 {
		s.queue.add(big, keep)
	}
	s.queue.add("lost", func(string) { t.Error("a line was written that does not fit") })
	close(goOn)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.queue.add("last", keep)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"first", big, big, big, big, "console: 4 lines came too fast and were dropped", "last"}
	if !slices.Equal(written, want) {
		t.Errorf("%d lines: %.60q", len(written), fmt.Sprint(written))
	}
}
