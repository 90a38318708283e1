package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle/record"
)

func extensionList() []extensions.Status {
	return []extensions.Status{
		{Host: "code", Place: "code", ID: "golang.go", Version: "0.52.2", State: "active", Why: "onLanguage:go",
			Activation: &extensions.Activation{Event: "onLanguage:go", CodeLoading: 812.25, ActivateCall: 4.5, ActivateResolved: 1500}},
		{Host: "code", Place: "code", ID: "acme.words", Version: "1.2.0", State: "activating", Why: "waits for acme.base"},
		{Host: "code", Place: "code~acme.bad", ID: "acme.bad", Version: "3.0.0", State: "active", Why: "onCommand:bad.run",
			Activation: &extensions.Activation{Event: "onCommand:bad.run", CodeLoading: 3, ActivateCall: 1},
			Blame:      extensions.Blame{SuspectIn: 2, Quarantined: true, Decision: "isolated: it alone is a suspect in 2 of 2 crashes in 5m0s"}},
		{Host: "code", Place: "code", ID: "acme.css", Version: "1.0.0", State: "failed", Why: "acme.css: activation failed: Cannot find module './x'\nRequire stack:\x1b[2J"},
		{Host: "code", Place: "code", ID: "acme.go", Version: "1.0.0", State: "active", Why: "*",
			Activation: &extensions.Activation{Event: "*", Startup: true}, Blame: extensions.Blame{SuspectIn: 1, Decision: "noted: killed by SIGABRT: one crash isolates no extension"}},
		{Host: "code", ID: "vscode.git", Version: "1.0.0", State: "disabled", Why: "disabled by the configuration", Blame: extensions.Blame{Decision: "cleared: requested by a person"}},
		{Host: "editor", ID: "acme.theme", State: "inactive"},
	}
}

func TestExtensions(t *testing.T) {
	for _, tt := range []struct {
		width int
		color bool
	}{{0, false}, {160, false}, {100, false}, {60, false}, {120, true}} {
		name := fmt.Sprintf("extensions_%d_%v.txt", tt.width, tt.color)
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := screen(tt.width, tt.color).Extensions(&b, extensionList()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.String())
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); tt.width > 0 && !tt.color && n > tt.width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestExtension(t *testing.T) {
	var b strings.Builder
	for _, color := range []bool{false, true} {
		for _, e := range extensionList() {
			fmt.Fprintln(&b, screen(0, color).Extension(e))
		}
	}
	golden(t, "extension.txt", b.String())
}

// The event of a decision must show the evidence against each extension.
func TestEventOfDecision(t *testing.T) {
	ev := record.Event{Time: now, Kind: record.KindBlame, Host: ptr("code"), Reason: "noted acme.bad: killed by SIGABRT: one crash isolates no extension", Extension: "acme.bad"}
	evidence := blame.Evidence{Suspects: []blame.Suspect{
		{ID: "acme.bad", Why: []string{"was being activated", "had call bad.run\x1b in flight"}}, {ID: "acme.go", Why: []string{"had call go.test in flight"}}}}
	vague := evidence
	vague.Vague = true
	line := "2026-03-01 12:00:00.000  code  blame                        " + ev.Reason
	for _, tt := range []struct {
		decision *blame.Decision
		want     string
	}{
		{nil, ""},
		{&blame.Decision{IDs: []extensions.ID{"acme.bad"}}, ""},
		{&blame.Decision{IDs: []extensions.ID{"acme.bad"}, Evidence: []blame.Evidence{vague, evidence}}, ` (acme.bad was being activated, had call bad.run\x1b in flight)`},
		{&blame.Decision{IDs: []extensions.ID{"acme.go", "acme.bad"}, Evidence: []blame.Evidence{evidence}},
			` (acme.bad was being activated, had call bad.run\x1b in flight; acme.go had call go.test in flight)`},
		{&blame.Decision{IDs: []extensions.ID{"acme.bad"}, Evidence: []blame.Evidence{vague}}, " (no evidence against a single one)"},
		{&blame.Decision{Verdict: blame.HostFault, Evidence: []blame.Evidence{vague}}, ""},
	} {
		ev.Decision = nil
		if tt.decision != nil {
			ev.Decision = asJSON(t, tt.decision)
		}
		if got := screen(0, false).Event(ev, 4); got != line+tt.want {
			t.Errorf("got  %s\nwant %s", got, line+tt.want)
		}
	}
}

// A crash report must show the suspects, and the decision.
func TestCrashOfExtensions(t *testing.T) {
	c := report()
	c.Lines, c.Messages, c.Noise = nil, nil, nil
	evidence := []blame.Evidence{
		{Time: now.Add(-time.Minute), Life: 6, Reason: "killed by SIGABRT", Suspects: []blame.Suspect{
			{ID: "acme.bad", Score: 4, Why: []string{"had call bad.run in flight"}}, {ID: "acme.go", Score: 4, Why: []string{"had call go.format in flight", "had call go.test in flight"}}}},
		{Time: now, Life: 7, Reason: "killed by SIGABRT\x1b[2J", Vague: true, Suspects: []blame.Suspect{{ID: "acme.bad", Why: []string{"was there"}}}},
	}
	var b bytes.Buffer
	for _, r := range []*service.Report{
		{Begun: []string{"acme.bad", "acme.go"}, Decisions: []blame.Decision{
			{Verdict: blame.Isolated, IDs: []extensions.ID{"acme.bad"}, Why: "it alone is a suspect in 2 of 2 crashes in 5m0s", Evidence: evidence},
			{Verdict: blame.Cleared, IDs: []extensions.ID{"acme.go", "acme.css"}, Why: "nothing speaks against them in this crash"}}},
		{Decisions: []blame.Decision{{Verdict: blame.HostFault, Why: "it crashed before any activation"}}},
	} {
		c.Extensions = asJSON(t, r)
		if err := screen(80, false).Crash(&b, &c, ""); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "crash_extensions.txt", b.String())
}

func asJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
