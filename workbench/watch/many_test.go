package watch

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestRequestsOfAHostAreBounded(t *testing.T) {
	t.Parallel()
	var texts []string
	l := newLoop(NewWatcher(Options{Send: func(string, []Change) {}, Problem: func(text string) { texts = append(texts, text) }}))
	defer l.stop()
	dir := t.TempDir()
	for n := range maxRequests + 10 {
		l.watch("a"+strconv.Itoa(n), Request{For: "a", Path: dir})
	}
	if len(l.roots) != maxRequests || len(texts) != 1 || !strings.Contains(texts[0], "for a:") {
		t.Errorf("%d requests, %q", len(l.roots), texts)
	}
	patterns := slices.Repeat([]string{"*a?"}, maxPatterns/3)
	for n := range 10 {
		l.watch("b"+strconv.Itoa(n), Request{For: "b", Path: dir, Excludes: patterns})
	}
	if len(l.roots) != maxRequests+3 || len(texts) != 2 {
		t.Errorf("%d requests, %q", len(l.roots)-maxRequests, texts)
	}
	for n := range maxProblems {
		l.watch("c", Request{For: "c", Path: strconv.Itoa(n)}) // not absolute
	}
	if len(texts) != maxProblems || len(l.reported) != maxProblems {
		t.Errorf("%d problems were reported, %d are kept", len(texts), len(l.reported))
	}
}
