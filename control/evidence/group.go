package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/lifecycle/record"
)

// Summary is what the index holds of a report.
type Summary struct {
	ID       string           `json:"id"`
	Time     time.Time        `json:"time"`
	Host     string           `json:"host"`
	Life     uint64           `json:"life"`
	Uptime   float64          `json:"uptime_seconds"`
	Next     string           `json:"next"`
	Reason   string           `json:"reason"`
	Exit     *record.ExitInfo `json:"exit"`
	Program  string           `json:"program,omitempty"` // name and version that the host has told
	Version  string           `json:"version,omitempty"` // of hostsup
	Likeness Likeness         `json:"likeness"`
}

// summarize returns the summary of a report. One without evidence, of an older version, gets its
// likeness here.
func summarize(r *record.CrashReport) Summary {
	s := Summary{ID: r.ID, Time: r.Time, Host: r.Host, Life: r.Life, Uptime: r.Uptime, Next: r.Next, Reason: r.Reason, Exit: r.Exit}
	if e, ok := Of(r); ok {
		s.Program, s.Version, s.Likeness = e.Program, e.Version, e.Likeness
	} else {
		s.Likeness = Compare(r)
	}
	return s
}

// Summarize returns the summaries of reports.
func Summarize(reports []record.CrashReport) []Summary {
	out := make([]Summary, len(reports))
	for i := range reports {
		out[i] = summarize(&reports[i])
	}
	return out
}

// Group is the crashes of one [Likeness].
type Group struct {
	Likeness
	Count    int       `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Hosts    []string  `json:"hosts"`
	Programs []string  `json:"programs"` // names and versions that hosts have told
	Versions []string  `json:"versions"` // of hostsup
	Latest   string    `json:"latest"`   // id of the newest report
	Reason   string    `json:"reason"`   // of the newest report
}

// Groups returns the groups of summaries, that with the newest crash last.
func Groups(summaries []Summary) []Group {
	at := map[string]*Group{}
	for _, s := range summaries {
		g := at[s.Likeness.Key]
		if g == nil {
			g = &Group{First: s.Time, Last: s.Time, Hosts: []string{}, Programs: []string{}, Versions: []string{}}
			at[s.Likeness.Key] = g
		}
		g.Count++
		if s.Time.Before(g.First) {
			g.First = s.Time
		}
		if g.Latest == "" || !s.Time.Before(g.Last) {
			g.Likeness, g.Last, g.Latest, g.Reason = s.Likeness, s.Time, s.ID, s.Reason
		}
		g.Hosts, g.Programs, g.Versions = include(g.Hosts, s.Host), include(g.Programs, s.Program), include(g.Versions, s.Version)
	}
	out := make([]Group, 0, len(at))
	for _, g := range at {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Key, b.Key)) })
	return out
}

// include adds a name to a sorted list.
func include(list []string, name string) []string {
	if at, found := slices.BinarySearch(list, name); !found && name != "" {
		return slices.Insert(list, at, name)
	}
	return list
}
