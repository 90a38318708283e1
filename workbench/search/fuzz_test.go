package search

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/glob"
)

// Whatever an extension searches for, its matches lie within the text that is shown of them.
func FuzzText(f *testing.F) {
	f.Add("needle", false, false, "x needle\r\ny", 5)
	f.Add(`^a.*$|\s+`, true, true, "a😀\r\n\r\n b\n", 1)
	f.Fuzz(func(t *testing.T, text string, isRegExp, isMultiline bool, content string, chars int) {
		if len(text) > 100 || len(content) > 1000 {
			return
		}
		p, err := newPattern(info{Pattern: text, IsRegExp: isRegExp, IsMultiline: isMultiline})
		if err != nil || p.pcre {
			return
		}
		decoded, ok := charset{}.decode([]byte(content))
		if !ok {
			return
		}
		for _, b := range p.blocks(decoded) {
			for _, r := range b.results(&preview{1, chars % 100}) {
				lines := strings.SplitAfter(r.Text, "\n")
				for _, l := range r.Locations {
					at := l.Preview
					if at.StartLine < 0 || at.EndLine > len(lines) || at.StartColumn < 0 || at.EndColumn < 0 || at.StartLine > at.EndLine {
						t.Fatalf("%+v in %q", l, r.Text)
					}
					if at.EndLine < len(lines) && at.EndColumn > len(utf16Of(lines[at.EndLine])) {
						t.Fatalf("%+v ends behind its line in %q", l, r.Text)
					}
				}
			}
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.go\n!a/b/\n/x\\ ", "a/b/c.go")
	f.Fuzz(func(t *testing.T, text, path string) {
		rules := parseIgnore(text)
		n := &ignoring{dir: "/w", files: [][]ignoreRule{nil, nil, rules, nil}}
		ignored, found := n.has("/w/"+path, false)
		if ignored && !found {
			t.Errorf("%q is ignored without a rule", path)
		}
		for _, r := range rules {
			if _, err := glob.Compile(r.glob.String()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLongLinesAreCut(t *testing.T) {
	long := strings.Repeat("x", 300) + "needle" + strings.Repeat("ü", 300) + "needle"
	p, err := newPattern(info{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	all := p.blocks([]byte(long))[0].results(&preview{100, 50})
	if len(all) != 1 || len(all[0].Locations) != 2 {
		t.Fatalf("%+v", all)
	}
	text := utf16Of(all[0].Text)
	if len(text) > 250 || !strings.Contains(all[0].Text, " characters skipped ⟫") {
		t.Errorf("%d units: %s", len(text), all[0].Text)
	}
	for i, l := range all[0].Locations {
		if got := textOf(text[l.Preview.StartColumn:l.Preview.EndColumn]); got != "needle" {
			t.Errorf("%d: %q", i, got)
		}
		if want := []int{300, 606}[i]; l.Source.StartColumn != want {
			t.Errorf("column %d, want %d", l.Source.StartColumn, want)
		}
	}
	whole := p.blocks([]byte(long))[0].results(&preview{100, 10_000})
	if whole[0].Text != long {
		t.Errorf("a line of %d was cut", len(long))
	}
}
