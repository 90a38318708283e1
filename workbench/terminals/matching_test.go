package terminals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/problems"
)

// reports notes what is reported.
type reports struct {
	mu   sync.Mutex
	list []string
}

func (r *reports) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, line)
}

func (r *reports) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.list
	r.list = nil
	slices.Sort(out)
	return out
}

// Report implements [Problems].
func (r *reports) Report(owner string, uri workbench.URI, all []diagnostics.Diagnostic) error {
	messages := []string{}
	for _, d := range all {
		messages = append(messages, d.Message)
	}
	r.note(fmt.Sprintf("%s %s %d %.40s", owner, uri.Path, len(all), strings.Join(messages, ",")))
	return nil
}

// Withdraw implements [Problems].
func (r *reports) Withdraw(owner string) { r.note("without " + owner) }

// matchingOf returns what looks for problems with a matcher, while it runs.
func matchingOf(t *testing.T, s *Service, matcher string) *matching {
	t.Helper()
	one, err := s.matchers.Matcher(json.RawMessage(matcher), "own")
	if err != nil {
		t.Fatal(err)
	}
	if one, err = one.Bind(func(string) (string, error) { return "/w", nil }); err != nil {
		t.Fatal(err)
	}
	m := s.newMatching(execution{ID: "1", Task: json.RawMessage("{}")}, "task", []*problems.Matcher{one}, nil)
	go m.run()
	t.Cleanup(func() {
		m.end()
		<-m.done
	})
	return m
}

func TestProblemsOfOutput(t *testing.T) {
	r := &reports{}
	s := New(Options{Problems: r, IsOpen: func(uri workbench.URI) bool { return uri.Path == "/w/open" }})
	same := func(want ...string) {
		t.Helper()
		if got := r.take(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	m := matchingOf(t, s, `{"base": "$go", "owner": "go", "applyTo": "closedDocuments"}`)
	m.add([]byte("a:1: one\na:1: o"))
	m.flush()
	same("go /w/a 1 one", "without go")
	m.add([]byte("ne\nb:2: two\nopen:3: three\na:4: four\nc:5: the last line"))
	m.flush()
	same("go /w/a 2 one,four", "go /w/b 1 two")
	m.end()
	<-m.done
	same("go /w/c 1 the last line")
	m.add([]byte("d:6: after the end\n"))
	same()

	m = matchingOf(t, s, `{"base": "$go", "background": {"beginsPattern": {"regexp": "^begin ?(.*)$", "file": 1}, "endsPattern": "^end$"}}`)
	m.add([]byte("a:1: one\nb:1: other\nend\n"))
	m.flush()
	select {
	case <-m.ready:
		t.Error("it was ready before it began")
	default:
	}
	same("go /w/a 1 one", "go /w/b 1 other", "without go")
	m.add([]byte("begin a\n"))
	m.flush()
	same("go /w/a 0 ")
	m.add([]byte("b:1: other\na:2: two\nend\nbegin\nb:3: three\nend\n"))
	m.flush()
	<-m.ready
	same("go /w/a 1 two", "go /w/b 1 three", "without go")
}

// A task may write without an end, and lines without an end.
func TestProblemsAreBounded(t *testing.T) {
	r := &reports{}
	var mu sync.Mutex
	var logged []string
	s := New(Options{Problems: r, Log: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, line)
	}})
	m := matchingOf(t, s, `"$go"`)
	var all strings.Builder
	for i := range maxProblems + 10 {
		fmt.Fprintf(&all, "a:%d: bad\n", i+1)
	}
	m.add([]byte(all.String()))
	m.flush()
	if got := r.take(); len(got) != 2 || !strings.HasPrefix(got[0], fmt.Sprintf("go /w/a %d bad", maxProblems)) {
		t.Errorf("%q", got)
	}
	m.add([]byte(strings.Repeat("x", 100_000)))
	m.flush()
	if len(m.line) > problems.MaxLine {
		t.Errorf("%d bytes of a line are kept", len(m.line))
	}
	m.add([]byte("\n"))
	m.add(make([]byte, maxWaiting+1))
	m.flush()
	mu.Lock()
	defer mu.Unlock()
	if len(logged) != 2 || !strings.Contains(logged[0], "up to 10000 problems") || !strings.Contains(logged[1], "some output was not looked at") {
		t.Errorf("%q", logged)
	}
}
