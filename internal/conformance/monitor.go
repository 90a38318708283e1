package conformance

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// monitor holds, during every play, the rules that every message of a host must keep. It
// knows both sides' requests.
type monitor struct {
	offers   []string        // named by the kit
	force    map[string]bool // capabilities that are in force
	answered bool            // initialize is
	mine     map[uint64]*asked
	theirs   map[uint64]*asked // requests of the host
}

// asked is one request of either side.
type asked struct {
	method          string
	at              time.Time
	credit, items   uint64
	over            bool // answered
	overAt          time.Time
	acked, canceled bool
}

func newMonitor() *monitor {
	return &monitor{force: make(map[string]bool), mine: make(map[uint64]*asked), theirs: make(map[uint64]*asked)}
}

// offered takes in the capabilities that initialize names.
func (w *monitor) offered(caps []string) { w.offers = caps }

// note takes in a message of the kit. A request that is no well-formed one is not noted.
func (w *monitor) note(elements []any) {
	if len(elements) < 2 {
		return
	}
	kind, _ := elements[0].(codec.Kind)
	var id uint64
	switch n := elements[1].(type) {
	case uint32:
		id = uint64(n)
	case uint64:
		id = n
	}
	switch kind {
	case codec.Request:
		if method, ok := elements[2].(string); ok {
			w.mine[id] = &asked{method: method, at: time.Now()}
		}
	case codec.Response:
		if r := w.theirs[id]; r != nil {
			r.over = true
		}
	case codec.Cancel:
		if r := w.mine[id]; r != nil {
			r.canceled = true
		}
	case codec.Credit:
		if r := w.mine[id]; r != nil {
			n, _ := elements[2].(uint32)
			r.credit += uint64(n)
		}
	}
}

// needs are the capabilities of the kinds, and the rules that hold what is not in force.
var needs = [...]struct{ cap, rule string }{
	codec.Ack: {"ack", "C1"}, codec.Cancel: {"cancel", "C2"}, codec.Item: {"stream", "C3"}, codec.Credit: {"stream", "C3"},
}

// see judges a message of the host.
func (w *monitor) see(m *message) *breach {
	if !w.answered {
		return w.early(m)
	}
	if len(w.offers) == 0 && (m.kind > codec.Notification || m.traced) {
		return &breach{"C5", "requests, responses and notifications only, because no capability is in force", m.text}
	}
	if int(m.kind) < len(needs) {
		if n := needs[m.kind]; n.cap != "" && !w.force[n.cap] {
			return &breach{n.rule, fmt.Sprintf("no message of the capability %s, which is not in force", n.cap), m.text}
		}
	}
	if m.traced && !w.force["trace"] {
		return &breach{"C4", "no additional element, because the capability trace is not in force", m.text}
	}
	if m.traced && !isTrace(m.trace) {
		return &breach{"T2", "a map {traceparent, tracestate} of strings", m.text}
	}
	switch m.kind {
	case codec.Request:
		if r := w.theirs[m.id]; r != nil && !r.over {
			return &breach{"I2", fmt.Sprintf("another id than %d, whose request is open", m.id), m.text}
		}
		w.theirs[m.id] = &asked{method: m.method, at: m.at}
	case codec.Response:
		return w.response(m)
	case codec.Ack, codec.Item:
		r := w.mine[m.id]
		if r == nil {
			return &breach{"I3", "the id of a request of the supervisor", m.text}
		}
		if m.kind == codec.Item {
			return w.item(m, r)
		}
		r.acked = true
	case codec.Cancel, codec.Credit:
		r := w.theirs[m.id]
		if r == nil {
			return &breach{"I4", "the id of a request of the host", m.text}
		}
		if m.kind == codec.Credit {
			r.credit += m.credit
		} else {
			r.canceled = true
		}
	}
	return nil
}

// response judges an answer.
func (w *monitor) response(m *message) *breach {
	r := w.mine[m.id]
	if r == nil {
		return &breach{"I5", "an answer to a request of the supervisor", m.text}
	}
	if r.over {
		return &breach{"A1", fmt.Sprintf("one answer to request %d", m.id), "one more: " + m.text}
	}
	r.over, r.overAt = true, m.at
	if m.failure != nil && m.payload != nil {
		return &breach{"E1", "nil as the result, because there is an error", m.text}
	}
	return nil
}

// answeredAt returns when a request of the kit was answered.
func (w *monitor) answeredAt(id uint64) time.Time { return w.mine[id].overAt }

// item judges an item.
func (w *monitor) item(m *message, r *asked) *breach {
	switch {
	case r.over:
		return &breach{"S5", "no item after the response", m.text}
	case r.items >= r.credit:
		return &breach{"S1", fmt.Sprintf("no item beyond the credit of %d", r.credit), m.text}
	case m.seq != r.items:
		return &breach{"S3", fmt.Sprintf("seq %d", r.items), m.text}
	}
	r.items++
	return nil
}

// early judges what comes before initialize is answered, and its answer.
func (w *monitor) early(m *message) *breach {
	first := w.mine[1]
	if m.kind == codec.Ack && m.id == 1 && first != nil {
		return nil
	}
	if m.kind != codec.Response || m.id != 1 || first == nil || first.method != native.MethodInitialize {
		return &breach{"O2", "the ack of initialize or its answer", m.text}
	}
	w.answered, first.over = true, true
	if m.failure != nil {
		if m.payload != nil {
			return &breach{"E1", "nil as the result, because there is an error", m.text}
		}
		return nil
	}
	if v, ok := number(field(m.payload, "protocol"), 1<<32-1); !ok || v == 0 {
		return &breach{"O1", "the result {protocol: 1, …} of initialize", m.text}
	}
	names, ok := field(m.payload, "capabilities").([]any)
	if !ok && field(m.payload, "capabilities") != nil {
		return &breach{"O3", "a list of names as capabilities", m.text}
	}
	for _, key := range []string{"name", "version"} {
		if _, ok := field(m.payload, key).(string); !ok && field(m.payload, key) != nil {
			return &breach{"O3", "a string as " + key, m.text}
		}
	}
	for _, name := range names {
		s, ok := name.(string)
		if !ok {
			return &breach{"O3", "a list of names as capabilities", m.text}
		}
		for _, o := range w.offers {
			w.force[s] = w.force[s] || o == s
		}
	}
	return nil
}

// isTrace reports whether v is what messages carry with the capability trace.
func isTrace(v any) bool {
	if v == nil {
		return true
	}
	fields, ok := v.(map[string]any)
	for _, key := range []string{"traceparent", "tracestate"} {
		if s, is := fields[key].(string); fields[key] != nil && (!is || len(s) > maxTrace) {
			ok = false
		}
	}
	return ok
}
