package top

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/screens", func(t *testing.T, path string) {
		m := newModel(show.Screen{Terminal: true, Zone: time.UTC})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return run(t, m, d)
		})
	})
}

// run carries out one command of a script, and returns the effects or the screen.
func run(t *testing.T, m *model, d *datadriven.TestData) string {
	t.Helper()
	arg := func(name, or string) string {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &or)
		}
		return or
	}
	var effects []any
	switch d.Cmd {
	case "size":
		w, _ := strconv.Atoi(d.CmdArgs[0].Key)
		h, _ := strconv.Atoi(d.CmdArgs[1].Key)
		effects = m.update(size{w, h})
	case "color":
		m.screen.Color = true
	case "keys":
		for _, k := range d.CmdArgs {
			effects = append(effects, m.update(key(strings.ReplaceAll(k.Key, "comma", ",")))...)
		}
	case "status":
		st := &supervisor.Status{Supervisor: supervisor.Info{Version: "v1", PID: 7, Started: at("12:00:00")}}
		for line := range strings.Lines(d.Input) {
			st.Hosts = append(st.Hosts, host(t, strings.Fields(line)))
		}
		history := &samples.History{}
		for _, h := range st.Hosts {
			if s := h.AverageResponseSeconds; s != nil { // stands for both
				twice := 2 * *s
				history.Hosts = append(history.Hosts, samples.Series{Name: h.Name, P50: []*float64{nil, s}, P99: []*float64{nil, &twice}})
			}
		}
		effects = m.update(statusMsg{status: st, samples: history, role: control.Role(arg("role", "full")), at: at(arg("at", "12:00:10"))})
	case "fail":
		effects = m.update(statusMsg{err: errors.New(d.Input), at: at(arg("at", "12:00:10"))})
	case "events":
		var list []record.Event
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			from, to := lifecycle.State(f[2]), lifecycle.State(f[3])
			list = append(list, record.Event{Time: at(f[0]), Kind: record.KindState, Host: &f[1], From: &from, To: &to, Reason: strings.Join(f[4:], " ")})
		}
		effects = m.update(eventsMsg{list, d.HasArg("fresh")})
	case "lines":
		msg := linesMsg{host: arg("host", ""), ended: d.HasArg("ended")}
		d.MaybeScanArgs(t, "lost", &msg.lost)
		for line := range strings.Lines(d.Input) {
			msg.lines = append(msg.lines, capture.Line{Time: at("12:00:03"), Stream: capture.Stdout, Text: strings.TrimSuffix(line, "\n")})
		}
		effects = m.update(msg)
	case "crash":
		effects = m.update(crashMsg{host: arg("host", ""), report: &record.CrashReport{
			ID: "c1", Time: at("12:00:05"), Host: "ts", Group: "editor", Life: 2, PID: 12, Reason: "exit 3", Uptime: 5, State: lifecycle.Running}})
	case "done":
		msg := doneMsg{act: act{arg("verb", ""), arg("host", "")}}
		if d.Input != "" {
			msg.err = errors.New(d.Input)
		}
		effects = m.update(msg)
	case "view":
		var b strings.Builder
		for line := range strings.Lines(m.view() + "\n") {
			line = strings.ReplaceAll(line, "\x1b", "ESC")
			b.WriteString(strings.TrimRight(line, " \n") + "|\n")
		}
		return b.String()
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	var b strings.Builder
	for _, e := range effects {
		fmt.Fprintf(&b, "%T %+v\n", e, e)
	}
	return b.String()
}

func at(clock string) time.Time {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return t.AddDate(2026, 2, 0)
}

// host reads a line: NAME GROUP STATE, and then figures.
func host(t *testing.T, f []string) record.HostStatus {
	t.Helper()
	h := record.HostStatus{Name: f[0], Group: f[1], State: lifecycle.State(f[2]), Protocol: "hostsup", Sandbox: record.SandboxStatus{Level: "none"}}
	for _, field := range f[3:] {
		name, text, _ := strings.Cut(field, "=")
		n, _ := strconv.ParseFloat(text, 64)
		switch name {
		case "pid":
			pid := int(n)
			started := at("12:00:01")
			h.PID, h.Started = &pid, &started
		case "life":
			h.Life = uint64(n)
		case "restarts":
			h.Restarts = uint64(n)
		case "calls":
			h.Calls = uint64(n)
		case "pending":
			h.Pending = int(n)
		case "mem":
			rss := int64(n) << 20
			h.RSSBytes = &rss
		case "cpu":
			h.CPUSeconds = &n
		case "response":
			h.AverageResponseSeconds = &n
		case "reason":
			text = strings.ReplaceAll(text, "_", " ")
			h.Reason = &text
		case "crash":
			h.CrashID = &text
		default:
			t.Fatalf("no figure %q", field)
		}
	}
	return h
}

// A terminal must not be led by what hosts print or are named: only colours of output are
// left.
func TestTextOfHostsCannotLeadTheTerminal(t *testing.T) {
	m := newModel(show.Screen{Terminal: true, Color: true, Zone: time.UTC})
	m.update(size{200, 30})
	bad := "\x1b]0;title\x07\x1b[2J"
	h := record.HostStatus{Name: "h" + bad, Group: "g" + bad, State: lifecycle.Failed, Reason: &bad}
	m.update(statusMsg{status: &supervisor.Status{Hosts: []record.HostStatus{h, {Name: "other", Group: "g" + bad}}}, role: control.RoleFull, at: at("12:00:00")})
	look := func(where string) {
		t.Helper()
		if view := m.view(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.Contains(view, "\x07") {
			t.Errorf("%s: %q", where, view)
		}
	}
	look("table")
	m.update(key("x"))
	look("question")
	m.update(key("y"))
	m.update(doneMsg{act{"stop", h.Name}, errors.New(bad)})
	look("outcome")
	m.host = &hostView{name: h.Name, err: errors.New(bad), crashErr: errors.New(bad)}
	m.update(linesMsg{host: h.Name, lines: []capture.Line{{Text: bad}}})
	look("log")
	m.update(key("2"))
	m.update(eventsMsg{events: []record.Event{{Host: &h.Name, Kind: record.KindSlow, Reason: bad}}})
	look("events")
	m.update(key("3"))
	look("crash")
	m.update(statusMsg{err: errors.New(bad), at: at("12:00:00")})
	look("error")
}

// Whatever is pressed, in whatever order, at whatever size, the screen fits and nothing
// panics.
func FuzzKeys(f *testing.F) {
	f.Add("jjx y?q/abc\n", 40, 10)
	f.Add("123jkGg<>oMCU\n", 120, 3)
	f.Fuzz(func(t *testing.T, keys string, width, height int) {
		m := newModel(show.Screen{Terminal: true, Zone: time.UTC})
		width, height = width%1000, height%1000 // a terminal has no more
		m.update(size{width, height})
		var hosts []record.HostStatus
		for i := range 30 {
			hosts = append(hosts, record.HostStatus{Name: fmt.Sprint("h", i), Group: fmt.Sprint("g", i/7), State: lifecycle.States()[i%8]})
		}
		for i, r := range keys {
			k := string(r)
			switch r {
			case '\n':
				k = "enter"
			case ' ':
				k = "space"
			}
			m.update(key(k))
			if i%3 == 0 {
				m.update(statusMsg{status: &supervisor.Status{Hosts: hosts[:i%31]}, role: control.RoleFull, at: at("12:00:00").Add(time.Duration(i) * time.Second)})
			}
			if n := strings.Count(m.view(), "\n") + 1; n > max(height, 1) {
				t.Fatalf("%d lines of %d after %q", n, height, keys[:i+1])
			}
		}
	})
}
