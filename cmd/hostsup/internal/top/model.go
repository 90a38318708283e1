package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	keptEvents = 500
	keptLines  = 1000
	// namedHosts is how many hosts a question names.
	namedHosts = 4
	// answersLast is how long the figures of answers are shown when no others come.
	answersLast = time.Minute
)

// Messages to the model.
type (
	// key is a key that was pressed, or text that was pasted.
	key string
	// size is the size of the terminal.
	size struct{ width, height int }
	// statusMsg is an answer to askStatus.
	statusMsg struct {
		status  *supervisor.Status
		samples *samples.History // newer ones than those before; nil: none
		role    control.Role
		err     error
		at      time.Time
	}
	// eventsMsg are events that were followed. With fresh they are the first of a
	// connection, which begins with the history.
	eventsMsg struct {
		events []record.Event
		fresh  bool
	}
	// linesMsg are lines of the log of a host that is followed.
	linesMsg struct {
		host  string
		lines []capture.Line
		lost  int  // lines that were left out before them
		ended bool // no more come
		err   error
	}
	// crashMsg is an answer to askCrash.
	crashMsg struct {
		host   string
		report *record.CrashReport
		err    error
	}
	// doneMsg is the outcome of act.
	doneMsg struct {
		act
		err error
	}
)

// Effects that the model asks for.
type (
	// follow follows the log of a host, and no other one; "" follows none.
	follow string
	// askCrash asks for a crash report.
	askCrash struct{ host, id string }
	// act does something to a host.
	act struct{ verb, host string }
	// askStatus asks for the status soon.
	askStatus struct{}
	// quit ends the program.
	quit struct{}
)

// sample is what rates are computed from.
type sample struct {
	calls   uint64
	cpu     float64
	life    uint64
	rate    *float64
	percent *float64

	p50, p99 *float64
	answered time.Time // p50 and p99 were true then
}

// model is what is on the screen.
type model struct {
	screen show.Screen
	height int

	status  *supervisor.Status // nil: none yet
	at      time.Time          // of status
	err     error              // why there is no newer one
	role    control.Role
	samples map[string]sample

	column     string // that is sorted by
	descending bool
	filter     string
	filtering  bool // keys go to the filter
	folded     map[string]bool
	at0        string // the row with the cursor, see row.id
	first      int    // the first row that is shown

	help     bool
	question *question // that is asked; nil: none
	outcome  string    // of the last action, or of one of several that failed
	failed   bool      // outcome is a failure
	doing    int       // actions under way

	host   *hostView // nil: the table is shown
	events []record.Event
}

// question is asked before something is done.
type question struct {
	text string
	acts []act
}

func newModel(screen show.Screen) *model {
	return &model{screen: screen, column: "NAME", folded: map[string]bool{}, samples: map[string]sample{}}
}

// update takes a message, and returns what is to be done.
func (m *model) update(msg any) []any {
	switch msg := msg.(type) {
	case size:
		m.screen.Width, m.height = msg.width, msg.height
	case statusMsg:
		return m.setStatus(msg)
	case eventsMsg:
		if msg.fresh {
			m.events = nil
		}
		m.events = append(m.events, msg.events...)
		m.events = slices.Clone(m.events[max(0, len(m.events)-keptEvents):])
		return []any{askStatus{}}
	case linesMsg:
		if m.host != nil && m.host.name == msg.host {
			m.host.add(msg)
		}
	case crashMsg:
		if m.host != nil && m.host.name == msg.host {
			m.host.report, m.host.crashErr = msg.report, msg.err
		}
	case doneMsg:
		m.doing--
		if msg.err != nil {
			m.outcome, m.failed = fmt.Sprintf("%s %s: %v", msg.verb, msg.host, msg.err), true
		} else if !m.failed {
			m.outcome = fmt.Sprintf("%s %s: done", msg.verb, msg.host)
		}
		return []any{askStatus{}}
	case key:
		return m.press(string(msg))
	}
	return nil
}

func (m *model) setStatus(msg statusMsg) []any {
	m.screen.Now = msg.at
	m.err = msg.err
	if msg.err != nil {
		return nil
	}
	m.role = msg.role
	was, elapsed := m.samples, msg.at.Sub(m.at).Seconds()
	m.samples = make(map[string]sample, len(msg.status.Hosts))
	for _, h := range msg.status.Hosts {
		now := sample{calls: h.Calls, life: h.Life}
		if before := was[h.Name]; msg.at.Sub(before.answered) < answersLast {
			now.p50, now.p99, now.answered = before.p50, before.p99, before.answered
		}
		if h.CPUSeconds != nil {
			now.cpu = *h.CPUSeconds
		}
		if before, ok := was[h.Name]; ok && elapsed > 0 && before.calls <= now.calls {
			r := float64(now.calls-before.calls) / elapsed
			now.rate = &r
			if h.CPUSeconds != nil && before.life == now.life && before.cpu <= now.cpu {
				p := 100 * (now.cpu - before.cpu) / elapsed
				now.percent = &p
			}
		}
		m.samples[h.Name] = now
	}
	m.status, m.at = msg.status, msg.at
	m.setSamples(msg.samples)
	if m.host == nil {
		return nil
	}
	i := slices.IndexFunc(m.status.Hosts, func(h record.HostStatus) bool { return h.Name == m.host.name })
	if i < 0 {
		m.host.gone = true
		return nil
	}
	m.host.gone = false
	return m.host.refresh(m.status.Hosts[i])
}

// setSamples takes how long answers took lately.
func (m *model) setSamples(history *samples.History) {
	if history == nil {
		return
	}
	for _, h := range history.Hosts {
		s, ok := m.samples[h.Name]
		if last := len(h.P50) - 1; ok && last >= 0 && last < len(h.P99) && h.P50[last] != nil {
			s.p50, s.p99, s.answered = h.P50[last], h.P99[last], m.at
			m.samples[h.Name] = s
		}
	}
}

// mayAct reports whether the supervisor lets the person change something.
func (m *model) mayAct() bool { return m.role == control.RoleOperate || m.role == control.RoleFull }

// press takes a key.
func (m *model) press(k string) []any {
	switch {
	case k == "ctrl+c":
		return []any{quit{}}
	case m.question != nil:
		q := m.question
		m.question = nil
		if k == "y" || k == "Y" {
			m.outcome, m.failed = "", false
			m.doing += len(q.acts)
			effects := make([]any, len(q.acts))
			for i, a := range q.acts {
				effects[i] = a
			}
			return effects
		}
		return nil
	case m.help:
		m.help = false
		return nil
	case m.filtering:
		m.edit(k)
		return nil
	case k == "?":
		m.help = true
		return nil
	}
	if verb := verbs[k]; verb != "" && m.mayAct() {
		m.ask(verb)
		return nil
	}
	if m.host != nil {
		return m.pressInHost(k)
	}
	return m.pressInTable(k)
}

// edit takes a key of the filter.
func (m *model) edit(k string) {
	switch k {
	case "enter":
		m.filtering = false
	case "esc":
		m.filtering, m.filter = false, ""
	case "backspace":
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	case "ctrl+u":
		m.filter = ""
	case "space":
		m.filter += " "
	default:
		if len([]rune(k)) == 1 && len(m.filter) < 200 {
			m.filter += k
		}
	}
}

// verbs are the keys of what can be done to hosts.
var verbs = map[string]string{"s": "start", "x": "stop", "r": "restart", "e": "reset"}

// ask asks before something is done to the host or the group under the cursor.
func (m *model) ask(verb string) {
	var hosts []string
	var what string
	if m.host != nil {
		hosts, what = []string{m.host.name}, m.host.name
	} else if r := m.current(); r == nil {
		return
	} else if what = r.name; r.group {
		for i := range m.status.Hosts {
			if h := &m.status.Hosts[i]; h.Group == r.name && m.matches(h) {
				hosts = append(hosts, h.Name)
			}
		}
		what = strings.Join(hosts[:min(len(hosts), namedHosts)], ", ")
		if more := len(hosts) - namedHosts; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		what += " of group " + r.name
	} else {
		hosts = []string{r.name}
	}
	q := &question{text: fmt.Sprintf("%s %s? y / n", verb, what)}
	for _, h := range hosts {
		q.acts = append(q.acts, act{verb, h})
	}
	m.question = q
}

func (m *model) pressInTable(k string) []any {
	rows := m.rows()
	at := max(0, slices.IndexFunc(rows, func(r row) bool { return r.id() == m.at0 }))
	move := func(to int) {
		if len(rows) > 0 {
			m.at0 = rows[min(max(to, 0), len(rows)-1)].id()
		}
	}
	page := max(1, m.room()-1)
	switch k {
	case "q":
		return []any{quit{}}
	case "esc":
		m.filter, m.outcome = "", ""
	case "/":
		m.filtering = true
	case "up", "k":
		move(at - 1)
	case "down", "j":
		move(at + 1)
	case "pgup", "ctrl+b":
		move(at - page)
	case "pgdown", "ctrl+f":
		move(at + page)
	case "home", "g":
		move(0)
	case "end", "G":
		move(len(rows) - 1)
	case "<", ">":
		m.nextColumn(k == ">")
	case "o":
		m.descending = !m.descending
	case "left", "right", "space", "enter":
		if len(rows) == 0 {
			return nil
		}
		if r := rows[at]; r.group {
			m.folded[r.name] = k == "left" || k != "right" && !m.folded[r.name]
		} else if k == "enter" || k == "right" {
			m.host = &hostView{name: r.name}
			return append([]any{follow(r.name)}, m.host.refresh(r.Host)...)
		} else if k == "left" && r.depth > 0 {
			m.folded[r.Host.Group] = true
			m.at0 = row{group: true, name: r.Host.Group}.id()
		}
	default:
		for title, short := range sortKeys {
			if short == k {
				m.sortBy(title)
			}
		}
	}
	return nil
}

// sortKeys are the keys of columns to sort by.
var sortKeys = map[string]string{
	"NAME": "N", "STATE": "T", "PID": "P", "RESTARTS": "R", "CALLS/S": "S", "P99": "L", "PENDING": "W", "MEM": "M", "CPU%": "C", "UPTIME": "U",
}

func (m *model) nextColumn(right bool) {
	titles := show.TopColumns()
	i := slices.Index(titles, m.column)
	if right {
		i++
	} else {
		i += len(titles) - 1
	}
	m.sortBy(titles[i%len(titles)])
}

// sortBy sorts by a column: names and states from the first, figures from the largest. The
// same column again turns the order round.
func (m *model) sortBy(title string) {
	if m.column == title {
		m.descending = !m.descending
		return
	}
	m.column = title
	m.descending = !slices.Contains([]string{"NAME", "STATE", "REASON", "PID"}, title)
}

// matches reports whether a host passes the filter.
func (m *model) matches(h *record.HostStatus) bool {
	if m.filter == "" {
		return true
	}
	text := h.Name + " " + h.Group + " " + string(h.State)
	if h.Reason != nil {
		text += " " + *h.Reason
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(m.filter))
}
