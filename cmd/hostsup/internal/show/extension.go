package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/extensions/service"
)

var extensionColumns = []column{
	{title: "HOST", spare: 3}, {title: "PLACE", spare: 1}, {title: "EXTENSION"}, {title: "VERSION", spare: 5}, {title: "STATE"},
	{title: "ACTIVATED IN", right: true, spare: 4}, {title: "SUSPECT IN", right: true, spare: 2}, {title: "WHY"},
}

// Extensions writes extensions as a table, one line each.
func (s Screen) Extensions(w io.Writer, list []extensions.Status) error {
	rows := make([][]cell, len(list))
	for i, e := range list {
		suspect := cell{text: none}
		if e.Blame.SuspectIn > 0 {
			suspect = cell{strconv.Itoa(e.Blame.SuspectIn) + " " + Plural(e.Blame.SuspectIn, "crash", "crashes"), Yellow}
		}
		rows[i] = []cell{
			{text: Clean(e.Host)}, {text: orNone(e.Place)}, {text: Clean(e.ID)}, {text: orNone(e.Version)}, {e.State, extensionStyle(e)},
			{text: activatedIn(e)}, suspect, {text: extensionWhy(e)},
		}
	}
	return s.table(w, extensionColumns, rows)
}

// Extension formats one extension as a line: `golang.go: active in code (12ms)`.
func (s Screen) Extension(e extensions.Status) string {
	text := Clean(e.ID) + ": " + s.Paint(extensionStyle(e), Clean(e.State))
	if e.Place != "" {
		text += " in " + Clean(e.Place)
	}
	if in := activatedIn(e); in != none {
		text += " (" + in + ")"
	}
	if why := extensionWhy(e); why != "" {
		text += ": " + why
	}
	return text
}

// extensionWhy returns the reason of the state with the latest decision; a
// quarantine comes first, because the rest may be cut off.
func extensionWhy(e extensions.Status) string {
	var parts []string
	quarantine := "in quarantine"
	if e.Blame.Decision != "" {
		quarantine += ", " + Clean(e.Blame.Decision)
	}
	if e.Blame.Quarantined {
		parts = append(parts, quarantine)
	}
	if e.Why != "" {
		parts = append(parts, Clean(strings.TrimPrefix(e.Why, strings.ToLower(e.ID)+": ")))
	}
	if !e.Blame.Quarantined && e.Blame.SuspectIn > 0 && e.Blame.Decision != "" {
		parts = append(parts, Clean(e.Blame.Decision))
	}
	return strings.Join(parts, "; ")
}

// activatedIn returns how long the whole activation took.
func activatedIn(e extensions.Status) string {
	if e.Activation == nil {
		return none
	}
	a := e.Activation
	return Span(time.Duration((a.CodeLoading + a.ActivateCall + a.ActivateResolved) * float64(time.Millisecond)))
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return Clean(text)
}

func extensionStyle(e extensions.Status) Style {
	switch {
	case e.State == "failed":
		return Alarm
	case e.Blame.Quarantined:
		return Yellow
	case e.State == "active":
		return Green
	case e.State == "activating":
		return Cyan
	}
	return Dim
}

// suspicion returns the evidence of a decision, by the latest crash: `acme.bad had
// call bad.run in flight`.
func suspicion(d *blame.Decision) string {
	if d == nil || len(d.Evidence) == 0 {
		return ""
	}
	e := d.Evidence[len(d.Evidence)-1]
	if e.Vague && d.Verdict != blame.HostFault {
		return "no evidence against a single one"
	}
	var parts []string
	for _, s := range e.Suspects {
		if slices.Contains(d.IDs, s.ID) && len(s.Why) > 0 {
			parts = append(parts, Clean(string(s.ID)+" "+strings.Join(s.Why, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}

// accused writes the part of a crash report about extensions: which were active,
// which are suspected, and the decision.
func (s Screen) accused(b *strings.Builder, r *service.Report) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.Paint(Bold, fmt.Sprintf("extensions, %d had begun to be activated", len(r.Begun))))
	if len(r.Begun) > 0 {
		fmt.Fprintf(b, "  %s\n", Clean(strings.Join(r.Begun, ", ")))
	}
	profiled(b, r.Profile)
	for _, d := range r.Decisions {
		ids := make([]string, len(d.IDs))
		for i, id := range d.IDs {
			ids[i] = string(id)
		}
		verdict := strings.TrimSpace(string(d.Verdict) + " " + Clean(strings.Join(ids, ", ")))
		if d.Verdict == blame.HostFault {
			verdict = "no extension's fault"
		}
		fmt.Fprintf(b, "  %s %s\n", s.Paint(Yellow, verdict+":"), Clean(d.Why))
		for _, e := range d.Evidence {
			fmt.Fprintf(b, "    %s life %d, %s\n", s.Paint(Dim, s.clock(e.Time)), e.Life, Clean(e.Reason))
			for _, suspect := range e.Suspects {
				fmt.Fprintln(b, strings.TrimRight("      "+Clean(string(suspect.ID))+": "+Clean(strings.Join(suspect.Why, ", ")), ": "))
			}
			if e.Vague {
				fmt.Fprintln(b, "      no evidence against a single one: these are all that had begun")
			}
		}
	}
}

// profiled writes which extensions used the processor while the host hung.
func profiled(b *strings.Builder, p *service.ProfileReport) {
	if p == nil {
		return
	}
	who := make([]string, len(p.Shares))
	for i, share := range p.Shares {
		who[i] = fmt.Sprintf("%s %.0f %%", Clean(string(share.ID)), share.Share*100)
	}
	if len(who) == 0 {
		who = []string{"no extension"}
	}
	fmt.Fprintf(b, "  had the processor, in %s: %s\n", Span(seconds(p.Seconds)), strings.Join(who, ", "))
	if p.File != "" {
		fmt.Fprintf(b, "  profile: %s\n", Clean(p.File))
	}
}

// Idle returns why an event may have activated none of these extensions, and what to
// check.
func Idle(list []extensions.Status) string {
	if len(list) == 0 {
		return "no host has extensions; an extensions block in its configuration gives it some"
	}
	var states, hosts []string
	counts := map[string]int{}
	for _, e := range list {
		if counts[e.State]++; counts[e.State] == 1 {
			states = append(states, e.State)
		}
		if !slices.Contains(hosts, e.Host) {
			hosts = append(hosts, e.Host)
		}
	}
	for i, st := range states {
		states[i] = fmt.Sprintf("%d %s", counts[st], Clean(st))
	}
	text := fmt.Sprintf("the extensions of %s (%s) declare other events", Clean(strings.Join(hosts, ", ")), strings.Join(states, ", "))
	if counts["active"] > 0 {
		text += ", or are active by another one"
	}
	if counts["inactive"] > 0 {
		text += ", or were not activated by their host when it started"
	}
	return text + "; next: hostsup extensions"
}

var installedColumns = []column{{title: "EXTENSION"}, {title: "VERSION"}, {title: "IN USE"}, {title: "INSTALLED", spare: 2}, {title: "DIGEST", spare: 1}, {title: "SOURCE"}}

// Installed prints a table of the installed extensions with all their versions, the one that
// was used last first. Of a digest the first 12 digits are shown.
func (s Screen) Installed(w io.Writer, list []index.Extension) error {
	var rows [][]cell
	for _, e := range list {
		for _, v := range slices.Backward(e.Versions) {
			use := cell{text: none}
			if v.Folder == e.Use {
				use = cell{"yes", Green}
			}
			rows = append(rows, []cell{
				{text: Clean(e.ID)}, {text: Clean(v.Version)}, use, {text: v.Installed.Local().Format(time.DateTime)},
				{text: Clean(v.Digest[:min(len(v.Digest), len("sha256:")+12)])}, {text: Clean(v.Source)},
			})
		}
	}
	return s.table(w, installedColumns, rows)
}
