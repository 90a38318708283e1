package show

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// longest name of a state
const stateWidth = len("unresponsive")

// Event formats one event as a line. names is the width of the column of names.
func (s Screen) Event(ev record.Event, names int) string {
	return strings.TrimRight(strings.Join([]string{
		s.Paint(Dim, s.stamp(ev.Time)),
		pad(Who(ev), names),
		s.change(ev),
		s.what(ev),
	}, gap), " ")
}

// Message formats one message that a host sent by itself as a line.
func (s Screen) Message(at time.Time, kind, method string, params []byte) string {
	return strings.TrimRight(strings.Join([]string{
		s.Paint(Dim, s.stamp(at)),
		pad(Clean(kind), len("notification")),
		Clean(method),
		Clean(string(params)),
	}, gap), " ")
}

// Who returns the host, the group or the supervisor that an event is about.
func Who(ev record.Event) string {
	switch {
	case ev.Host != nil:
		return Clean(*ev.Host)
	case ev.Group != nil:
		return "group " + Clean(*ev.Group)
	}
	return "supervisor"
}

// change returns `running      → crashed     `, or the kind of an event that is not
// a change of state.
func (s Screen) change(ev record.Event) string {
	if ev.To == nil {
		return pad(ev.Kind, 2*stateWidth+3)
	}
	from := pad(none, stateWidth)
	if ev.From != nil {
		from = s.Paint(StateStyle(*ev.From), string(*ev.From)) + strings.Repeat(" ", max(0, stateWidth-len(*ev.From)))
	}
	to := s.Paint(StateStyle(*ev.To), string(*ev.To)) + strings.Repeat(" ", max(0, stateWidth-len(*ev.To)))
	return from + " → " + to
}

// what returns the reason, and facts that the reason omits.
func (s Screen) what(ev record.Event) string {
	reason := Clean(ev.Reason)
	var more []string
	if ev.Exit != nil && ev.Exit.Reason != "" && !strings.Contains(ev.Reason, ev.Exit.Reason) {
		more = append(more, Clean(ev.Exit.Reason))
	}
	if why := suspicion(service.DecisionOf(ev)); why != "" {
		more = append(more, why)
	}
	if ev.PID != nil {
		more = append(more, fmt.Sprintf("pid %d", *ev.PID))
	}
	if ev.CrashID != nil && (ev.To == nil || *ev.To != lifecycle.Failed) { // whose text includes it
		more = append(more, "crash "+Clean(*ev.CrashID))
	}
	if ev.To != nil && *ev.To == lifecycle.Failed && ev.Host != nil {
		reason += "; next: " + Advice(*ev.Host, orEmpty(ev.CrashID))
	}
	if len(more) == 0 {
		return reason
	}
	tail := "(" + strings.Join(more, ", ") + ")"
	if reason == "" {
		return s.Paint(Dim, tail)
	}
	return reason + " " + s.Paint(Dim, tail)
}

// NameWidth returns the width of a column of names.
func NameWidth(names []string) int {
	return max(len("supervisor"), HostWidth(names))
}

// HostWidth returns the width of a column that only has names of hosts.
func HostWidth(names []string) int {
	w := 0
	for _, n := range names {
		w = max(w, utf8.RuneCountInString(Clean(n)))
	}
	return min(w, 32)
}
