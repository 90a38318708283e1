//go:build !hostsup_posix

package selftest

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// promise is a row of the table of promises in docs/security.md.
type promise struct {
	text     string
	attempts []string // patterns of path.Match for "class/name"
	marks    map[policy.Level]string
}

// security returns the part of docs/security.md from one heading to the next.
func security(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/security.md has no %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n##")
	return part
}

// table returns the cells of the rows of text that have this many.
func table(text string, cells int) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(row) != cells || strings.Contains(line, "| --- |") {
			continue
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

func promises(t *testing.T) []promise {
	t.Helper()
	rows := table(security(t, "### The promises"), 8)
	if len(rows) < 30 || rows[0][0] != "promise" {
		t.Fatalf("the table of promises has %d rows", len(rows))
	}
	var list []promise
	for _, row := range rows[1:] {
		p := promise{text: row[0], marks: map[policy.Level]string{policy.Full: row[4], policy.NoCgroup: row[5], policy.Landlock: row[6]}}
		shown := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1)
		if len(shown) == 0 {
			t.Errorf("nothing shows %q", p.text)
		}
		for _, m := range shown {
			if !strings.HasPrefix(m[1], "Test") {
				p.attempts = append(p.attempts, m[1])
			}
		}
		for level, mark := range p.marks {
			if !slices.Contains([]string{"yes", "part", "refused"}, mark) {
				t.Errorf("%q: the mark of level %s is %q", p.text, level, mark)
			}
		}
		list = append(list, p)
	}
	return list
}

func (p *promise) shownBy(t *testing.T, id string) bool {
	t.Helper()
	return slices.ContainsFunc(p.attempts, func(pattern string) bool {
		ok, err := path.Match(pattern, id)
		if err != nil {
			t.Errorf("%q: %q: %v", p.text, pattern, err)
		}
		return ok
	})
}

// TestPromisesNameAttempts holds that the table of promises names attempts that
// exist, and that each attempt shows a promise or is listed as not promised.
func TestPromisesNameAttempts(t *testing.T) {
	list, open := promises(t), security(t, "### What is not promised")
	for _, p := range list {
		for _, pattern := range p.attempts {
			if !slices.ContainsFunc(attempts(), func(at *attempt) bool { ok, _ := path.Match(pattern, at.id()); return ok }) {
				t.Errorf("%q: no attempt is called %s", p.text, pattern)
			}
		}
	}
	for _, at := range attempts() {
		rows := 0
		for _, p := range list {
			if p.shownBy(t, at.id()) {
				rows++
			}
		}
		listed := strings.Contains(open, "(*"+at.name+"*)")
		switch {
		case at.unpromised != "" && !listed:
			t.Errorf("%s is not in the list of what is not promised", at.id())
		case at.unpromised == "" && rows == 0:
			t.Errorf("%s is in no row of the table of promises", at.id())
		case at.unpromised != "" && rows > 0:
			t.Errorf("%s is promised and not promised", at.id())
		}
	}
}

// TestPromisesAgreeWithReport holds that the report in docs/security.md has each
// attempt, and compares the marks of the levels with its verdicts.
func TestPromisesAgreeWithReport(t *testing.T) {
	rows := table(security(t, "## What gets out"), 7)
	if len(rows) < 200 {
		t.Fatalf("the report has %d rows", len(rows))
	}
	heads := rows[0]
	for i, at := range attempts() {
		if want := []string{string(at.class), at.name, at.about}; i+1 >= len(rows) || !slices.Equal(rows[i+1][:3], want) {
			t.Fatalf("the report has no row %q in place %d", want, i+1)
		}
	}
	if n := len(attempts()); len(rows) != n+1 {
		t.Errorf("the report has %d rows, and there are %d attempts", len(rows)-1, n)
	}
	for _, p := range promises(t) {
		gaps := map[policy.Level]bool{}
		for _, row := range rows[1:] {
			id := row[0] + "/" + row[1]
			if !p.shownBy(t, id) {
				continue
			}
			for i := 3; i < len(row); i++ {
				_, name, _ := strings.Cut(heads[i], ", ")
				level, got := policy.Level(name), Verdict(row[i])
				mark := p.marks[level]
				gaps[level] = gaps[level] || got == Gap
				if got == Gap && mark != "part" || got == Refused && mark != "refused" || got == Escaped {
					t.Errorf("%q is marked %s at level %s, and %s is %s", p.text, mark, level, id, got)
				}
			}
		}
		for level, mark := range p.marks {
			if mark == "part" && !gaps[level] {
				t.Errorf("%q is marked %s at level %s, and no attempt of it is a gap", p.text, mark, level)
			}
		}
	}
}
