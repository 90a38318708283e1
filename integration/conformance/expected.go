//go:build linux

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Expected is the list of differences that are meant to be.
type Expected struct {
	Reasons []Reason

	mu   sync.Mutex
	used map[*Place]bool
}

// Reason is why ours differs, and everywhere that it shows.
type Reason struct {
	Theirs string  `json:"theirs"` // what the real server does, in words
	Ours   string  `json:"ours"`   // what ours does
	Why    string  `json:"why"`
	Where  []Place `json:"where"`
}

// Place is one difference. A member that is missing on a side is missing here.
type Place struct {
	Scenario string          `json:"scenario"`     // theme/name
	On       string          `json:"on,omitempty"` // the transport; "" is each that the scenario is played over
	Step     string          `json:"step"`
	At       string          `json:"at,omitempty"`
	Theirs   json.RawMessage `json:"theirs,omitempty"`
	Ours     json.RawMessage `json:"ours,omitempty"`
}

// ParseExpected reads a list.
func ParseExpected(b []byte) (*Expected, error) {
	e := &Expected{used: map[*Place]bool{}}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&e.Reasons); err != nil {
		return nil, err
	}
	for i, r := range e.Reasons {
		if r.Theirs == "" || r.Ours == "" || r.Why == "" || len(r.Where) == 0 {
			return nil, fmt.Errorf("difference %d is not explained, or nowhere: %+v", i, r)
		}
	}
	return e, nil
}

// Place is the difference as a list has it.
func (d Difference) Place(sc Scenario, on string) Place {
	return Place{Scenario: sc.Theme + "/" + sc.Name, On: on, Step: d.Step, At: d.At, Theirs: d.Theirs, Ours: d.Ours}
}

func (p *Place) is(d Place) bool {
	return p.Scenario == d.Scenario && (p.On == "" || p.On == d.On) && p.Step == d.Step && p.At == d.At &&
		same(p.Theirs, d.Theirs) && same(p.Ours, d.Ours)
}

func same(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return compact(decode(a)) == compact(decode(b))
}

// Explains says whether a difference is in the list.
func (e *Expected) Explains(d Place) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.Reasons {
		for j := range e.Reasons[i].Where {
			if p := &e.Reasons[i].Where[j]; p.is(d) {
				e.used[p] = true
				return true
			}
		}
	}
	return false
}

// Unused are the places in played scenarios where nothing differed.
func (e *Expected) Unused(played func(scenario, on string) bool) []Place {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Place
	for i := range e.Reasons {
		for j := range e.Reasons[i].Where {
			if p := &e.Reasons[i].Where[j]; !e.used[p] && played(p.Scenario, p.On) {
				out = append(out, *p)
			}
		}
	}
	return out
}

// Table is the list in words, as Markdown.
func (e *Expected) Table() string {
	var b strings.Builder
	b.WriteString("| codex exec-server 0.169 | hostsup exec-server | why | seen in |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, r := range e.Reasons {
		seen := ""
		for _, p := range r.Where {
			if !strings.Contains(seen, "`"+p.Scenario+"`") {
				if seen != "" {
					seen += ", "
				}
				seen += "`" + p.Scenario + "`"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell.Replace(r.Theirs), cell.Replace(r.Ours), cell.Replace(r.Why), seen)
	}
	return b.String()
}
