package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestLinksInDocumentation holds that what a link leads to exists: the file or folder, and
// the heading of a page.
func TestLinksInDocumentation(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	checked := 0
	for _, page := range pagesOfProse(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(withoutCode(text), -1) {
			target := string(m[1])
			if u, err := url.Parse(target); err != nil || u.Scheme != "" {
				if err != nil || u.Host == "" || u.Scheme != "https" {
					t.Errorf("%s: %s is no link that a reader can follow", filepath.Base(page), target)
				}
				continue
			}
			checked++
			if wrong := leads(page, target); wrong != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), target, wrong)
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d links were found", checked)
	}
	for _, target := range []string{"no-such-page.md", "docs/operations.md#no-such-heading", "#no-such-heading"} {
		if leads("../../README.md", target) == "" {
			t.Errorf("of a link to %s nothing is said to be wrong", target)
		}
	}
}

// leads says what is wrong with a link of a page.
func leads(page, target string) string {
	path, anchor, _ := strings.Cut(target, "#")
	if path == "" {
		path = page
	} else {
		path = filepath.Join(filepath.Dir(page), path)
	}
	text, err := os.ReadFile(path)
	if _, statErr := os.Stat(path); statErr != nil {
		return "there is no such file or folder"
	}
	if anchor != "" && (err != nil || !anchors(text)[anchor]) {
		return "that page has no such heading"
	}
	return ""
}

// withoutCode returns a page without its blocks and its code in sentences.
func withoutCode(text []byte) []byte {
	return regexp.MustCompile("`[^`]+`").ReplaceAll(withoutBlocks(text), []byte("code"))
}

// anchors returns the names of a page's headings, as they are made of the text: small
// letters, a dash for each blank, a number for one that there was before.
func anchors(text []byte) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`).FindAllSubmatch(withoutBlocks(text), -1) {
		heading := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(string(m[1]), "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, heading)
		free := name
		for n := 1; out[free]; n++ {
			free = name + "-" + strconv.Itoa(n)
		}
		out[free] = true
	}
	return out
}
