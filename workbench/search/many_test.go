package search

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A line with a match at each byte takes a time that grows with its length, not with its square: this
// one would take hours.
func TestManyMatchesInALine(t *testing.T) {
	t.Parallel()
	p, err := newPattern(info{Pattern: "a"})
	if err != nil {
		t.Fatal(err)
	}
	blocks := p.blocks(bytes.Repeat([]byte("a"), 4<<20))
	results := blocks[0].results(nil)
	if len(blocks) != 1 || count(results) != maxMatches+1 {
		t.Fatalf("%d blocks, %d matches", len(blocks), count(results))
	}
	if last := results[0].Locations[maxMatches].Source; last.StartColumn != maxMatches || last.EndColumn != maxMatches+1 {
		t.Errorf("last match: %+v", last)
	}
	lines := p.blocks(bytes.Repeat([]byte("a\n"), 4<<20))
	if len(lines) != maxMatches+1 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestCursorCountsAsFromTheStart(t *testing.T) {
	t.Parallel()
	text := []byte("a\U0001F600b\r\nü\xff\n\r\nx")
	c := cursor{text: text}
	for offset := range len(text) + 1 {
		if offset > 1 && offset < 5 || offset == 9 { // within a rune
			continue
		}
		before := string(text[:offset])
		line, col := strings.Count(before, "\n"), len(utf16Of(before[strings.LastIndexByte(before, '\n')+1:]))
		if l, n := c.to(offset); l != line || n != col {
			t.Errorf("%d is at %d:%d, want %d:%d", offset, l, n, line, col)
		}
		if offset > 0 && text[offset-1] == '\r' { // an empty match before the \n moves before the \r
			if l, n := c.to(offset - 1); l != line || n != col-1 {
				t.Errorf("%d is then at %d:%d", offset-1, l, n)
			}
		}
	}
}

// A host writes ignore files itself: one of some MiB stands for more rules than there is memory for.
func TestIgnoreFilesAreBounded(t *testing.T) {
	t.Parallel()
	const digits = "{0,1,2,3,4,5,6,7,8,9}"
	line := "a?" + digits + digits + digits + digits + "\n"
	if rules := parseIgnore(strings.Repeat(line, 100_000)); len(rules) != 10 {
		t.Errorf("%d rules", len(rules))
	}
	var o options
	if err := json.Unmarshal([]byte(`{"excludePattern":[`+strings.Repeat(`{"pattern":"a?`+digits+digits+digits+digits+`"},`, 1000)+`{}]}`), &o); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{}).query(nil, t.TempDir(), &o); err == nil {
		t.Error("a billion patterns to exclude")
	}
}
