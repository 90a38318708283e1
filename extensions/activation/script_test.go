package activation

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/hostsup/hostsup/extensions"
)

// TestScripts runs the scripts under testdata: each event is followed by its effects.
// `go test ./extensions/activation -args -rewrite` rewrites them.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		now := time.Unix(1_000_000, 0)
		var m *Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			now = now.Add(time.Second)
			switch d.Cmd {
			case "fired":
				if now.Before(m.timerAt) {
					now = m.timerAt
				}
			case "wait":
				d, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				now = now.Add(d)
				return "ok\n"
			}
			switch d.Cmd {
			case "new":
				m = New(Rules{Hosts: hostsFrom(d.Input)})
				return "ok\n"
			case "show":
				var b strings.Builder
				for _, s := range m.All() {
					fmt.Fprintf(&b, "%s %s", s.ID, s.State)
					if s.Reason.Event != "" {
						fmt.Fprintf(&b, " for %s of %s", s.Reason.Event, s.Reason.ID)
					}
					if s.Err != nil {
						fmt.Fprintf(&b, ", %v", s.Err)
					}
					if len(s.Waits) > 0 {
						fmt.Fprintf(&b, ", waits for %v", s.Waits)
					}
					b.WriteByte('\n')
				}
				return b.String()
			case "requested":
				return strings.Join(m.Requested(), " ") + "\n"
			}
			return show(m.Step(event(t, d, m), now))
		})
	})
}

func hostsFrom(in string) []HostSpec {
	var out []HostSpec
	for line := range strings.Lines(in) {
		f := strings.Fields(line)
		s := HostSpec{Name: f[0]}
		for _, w := range f[1:] {
			s.Eager = s.Eager || w == "eager"
			s.Own = s.Own || w == "own"
			s.Tells = s.Tells || w == "tells"
		}
		out = append(out, s)
	}
	return out
}

// installedFrom parses lines of "host id [needs=a,b] [on=event,event] [data]
// [version=n]"; "-" is no host.
func installedFrom(in string) Installed {
	ev := Installed{Where: map[extensions.ID]string{}}
	for line := range strings.Lines(in) {
		f := strings.Fields(line)
		e := extensions.Extension{ID: extensions.MakeID(f[1]), Main: "main.js", Version: "1"}
		for _, w := range f[2:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "needs":
				for s := range strings.SplitSeq(value, ",") {
					e.Dependencies = append(e.Dependencies, extensions.MakeID(s))
				}
			case "on":
				e.Events = strings.Split(value, ",")
			case "data":
				e.Main = ""
			case "version":
				e.Version = value
			}
		}
		ev.List = append(ev.List, e)
		if f[0] != "-" {
			ev.Where[e.ID] = f[0]
		}
	}
	return ev
}

func event(t *testing.T, d *datadriven.TestData, m *Machine) Event {
	arg := func(key string) string {
		for _, a := range d.CmdArgs {
			if a.Key == key && len(a.Vals) > 0 {
				return a.Vals[0]
			}
		}
		return ""
	}
	number := func(key string) uint64 {
		n, err := strconv.ParseUint(arg(key), 10, 64)
		if err != nil && arg(key) != "" {
			t.Fatal(err)
		}
		return n
	}
	tag, life := number("tag"), number("life")
	first, second := "", extensions.ID("")
	if len(d.CmdArgs) > 0 {
		first = d.CmdArgs[0].Key
	}
	if len(d.CmdArgs) > 1 {
		second = extensions.ID(d.CmdArgs[1].Key)
	}
	if life == 0 {
		if h := m.hosts[first]; h != nil {
			life = h.life
		}
	}
	switch d.Cmd {
	case "boot":
		return Boot{}
	case "installed":
		return installedFrom(d.Input)
	case "request":
		return Request{first, tag, second == "bounded"}
	case "extension":
		return RequestExtension{ID: extensions.ID(first), From: extensions.ID(arg("from")), Tag: tag}
	case "up":
		return HostUp{first, life}
	case "down":
		return HostDown{first, Next(arg("next")), arg("cause")}
	case "began":
		return Began{first, life, second, Reason{Event: arg("on"), ID: second}}
	case "done":
		return Done{Host: first, Life: life, ID: second}
	case "failed":
		return Failed{first, life, second, arg("cause"), extensions.ID(arg("missing"))}
	case "found":
		return Found{extensions.ID(first), arg("event")}
	case "ended":
		return Ended{first, life, second, arg("why")}
	case "fired":
		return Fired{}
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

func show(effects []Effect) string {
	var b strings.Builder
	for _, e := range effects {
		switch e := e.(type) {
		case StartHost:
			fmt.Fprintf(&b, "start host %s: %s\n", e.Host, e.Why)
		case Activate:
			fmt.Fprintf(&b, "%s.%d: activate %s for %s of %s", e.Host, e.Life, e.ID, e.Reason.Event, e.Reason.ID)
			if e.Reason.Startup {
				b.WriteString(" at startup")
			}
			b.WriteByte('\n')
		case Deactivate:
			fmt.Fprintf(&b, "%s.%d: deactivate %s\n", e.Host, e.Life, e.ID)
		case Changed:
			fmt.Fprintf(&b, "%s: %s -> %s (%s)\n", e.ID, e.From, e.To, e.Why)
		case Settled:
			fmt.Fprintf(&b, "request %d settled\n", e.Tag)
			for _, err := range e.Errs {
				fmt.Fprintf(&b, "  %v\n", err)
			}
		case Search:
			fmt.Fprintf(&b, "search for %s: %s\n", e.ID, strings.Join(e.Events, " "))
		case SetTimer:
			fmt.Fprintf(&b, "timer %s\n", e.After)
		case CancelTimer:
			b.WriteString("no timer\n")
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
