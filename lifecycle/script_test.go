package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The scripts under testdata read as stories: a line of what happens, then the
// effects it has. `go test ./lifecycle -args -rewrite` writes them anew.

func TestHostScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/host", func(t *testing.T, path string) {
		now := time.Unix(1_000_000, 0)
		var h Host
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			now = now.Add(duration(t, d, "after"))
			if d.Cmd == "new" {
				h = NewHost(rulesFrom(t, d), 1, now)
				return string(h.State()) + "\n"
			}
			if d.Cmd == "show" {
				return fmt.Sprintf("%s (%s), life %d, restarts %d, crashes %d, slow %v\n", h.State(), h.Explanation(), h.Life(), h.Restarts(), h.CrashesInWindow(now), h.IsSlow())
			}
			if d.Cmd == "calls" {
				text := []string{"refused", "kept if they outlive a life", "wait"}[h.Calls()]
				if h.StartsAtCall() {
					text += ", and start it"
				}
				return text + "\n"
			}
			if d.Cmd == "over" {
				h = h.Over(now)
				return fmt.Sprintf("%s (%s)\n", h.State(), h.Explanation())
			}
			next, effects := h.Step(eventFrom(t, d, h), now)
			if next.refused != 0 {
				t.Fatalf("%s: a transition the table does not have", d.Pos)
			}
			h = next
			return showEffects(effects)
		})
	})
}

func TestGroupScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/group", func(t *testing.T, path string) {
		var g Group
		requests := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var ev GroupEvent
			switch d.Cmd {
			case "new":
				var err error
				requests = 0
				if g, err = NewGroup(Strategy(arg(d, "strategy")), membersFrom(d.Input)); err != nil {
					return err.Error() + "\n"
				}
				return strings.Join(g.Names(), " ") + "\n"
			case "boot":
				ev = Boot{}
			case "shutdown":
				ev = Shutdown{}
			case "want":
				requests++
				ev = Want{d.CmdArgs[0].Key, By(arg(d, "by")), requests}
			case "unwant":
				requests++
				ev = Unwant{d.CmdArgs[0].Key, requests}
			case "release":
				requests++
				ev = Release{d.CmdArgs[0].Key, requests}
			case "join":
				ev = Join{membersFrom(d.Input)[0]}
			case "rejoin":
				ev = Rejoin{membersFrom(d.Input)[0]}
			case "leave":
				ev = Leave{d.CmdArgs[0].Key}
			case "is":
				ev = Changed{Name: d.CmdArgs[0].Key, To: State(d.CmdArgs[1].Key), By: By(arg(d, "by"))}
			case "answer":
				ev = Changed{Name: d.CmdArgs[0].Key, Answer: true}
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}
			next, effects, err := g.Step(ev)
			if err != nil {
				return err.Error() + "\n"
			}
			g = next
			var b strings.Builder
			for _, e := range effects {
				switch e := e.(type) {
				case Command:
					b.WriteString(showCommand(e))
				case Escalate:
					fmt.Fprintf(&b, "escalate %s\n", e.Name)
				case AtRestAll:
					b.WriteString("all at rest\n")
				}
			}
			return orNothing(b.String())
		})
	})
}

func TestLifeScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/life", func(t *testing.T, path string) {
		var l Life
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if d.Cmd == "new" {
				l = NewLife(LifeRules{
					Drain: duration(t, d, "drain"), Grace: duration(t, d, "grace"), Prepares: d.HasArg("prepares"), Explains: d.HasArg("explains"),
				})
			}
			for _, ev := range lifeEvents(t, d) {
				var effects []LifeEffect
				l, effects = l.Step(ev)
				for _, e := range effects {
					out.WriteString(showLifeEffect(e) + "\n")
				}
			}
			return orNothing(out.String())
		})
	})
}

// lifeEvents are the events of a line of a script; new and up are short for how a
// life with a connection comes to run.
func lifeEvents(t *testing.T, d *datadriven.TestData) []LifeEvent {
	fault := func(cause Cause) Fault {
		f := Fault{Cause: cause, Detail: strings.TrimSpace(d.Input)}
		for _, a := range d.CmdArgs {
			if len(a.Vals) == 0 {
				f.Cause = Cause(a.Key)
				break
			}
		}
		return f
	}
	switch d.Cmd {
	case "new":
		return []LifeEvent{Begin}
	case "up":
		return []LifeEvent{Spawned, Connected, HandshakeDone}
	case "prepared":
		return []LifeEvent{PreparationDone{fault("")}}
	case "not-started":
		return []LifeEvent{NotStarted{fault(CauseSpawn)}}
	case "stream-ends":
		return []LifeEvent{StreamEnded{fault(CauseClosed), false}}
	case "stream-breaks-off":
		return []LifeEvent{StreamEnded{fault(CauseProtocol), true}}
	case "write-fails":
		return []LifeEvent{WriteFailed{fault(CauseClosed)}}
	case "stop":
		return []LifeEvent{StopAsked{d.HasArg("silent")}}
	case "must-end":
		return []LifeEvent{MustEnd{fault(CauseUnresponsive)}}
	case "exit", "killed":
		e := Exited{Limit: strings.TrimSpace(d.Input)}
		if scan(t, d.CmdArgs[0].Key, &e.Status.Code); d.Cmd == "killed" {
			e.Status = ExitStatus{Code: -1, Signal: e.Status.Code}
		}
		return []LifeEvent{e}
	case "explained":
		return []LifeEvent{Explained{strings.TrimSpace(d.Input), d.HasArg("final")}}
	case "part-ended":
		return []LifeEvent{PartEnded{d.CmdArgs[0].Key == "connection"}}
	case "torn":
		return []LifeEvent{Torn{}}
	}
	return []LifeEvent{LifeNews(d.Cmd)}
}

func showLifeEffect(e LifeEffect) string {
	switch e := e.(type) {
	case LifeOrder:
		return string(e)
	case CutOffCalls:
		return fmt.Sprintf("cut off the calls after %s", e.After)
	case SetLifeTimer:
		return fmt.Sprintf("timer %s", e.After)
	case Explain:
		return fmt.Sprintf("explain %s, ready %v", e.Status, e.Ready)
	case EndLife:
		text := fmt.Sprintf("end: %s", e.Fault.Cause)
		if e.Fault.Detail != "" {
			text += ": " + e.Fault.Detail
		}
		if e.Stuck {
			text += ", with the process still there"
		}
		if e.Expected {
			text += ", as asked for"
		}
		return text
	}
	return "?"
}

func showCommand(c Command) string {
	var text string
	var ack int
	switch e := c.Event.(type) {
	case Start:
		text, ack = fmt.Sprintf("start %s (%s)", c.Name, e.By), e.Ack
	case Stop:
		text, ack = fmt.Sprintf("stop %s (%s)", c.Name, e.Reason), e.Ack
		if e.Back {
			text += ", back later"
		}
	case Waits:
		text, ack = fmt.Sprintf("hold %s: waiting for %s", c.Name, e.For), e.Ack
	case StopRefused:
		text, ack = c.Name+" goes on", e.Ack
	case DependencyFailed:
		text, ack = fmt.Sprintf("fail %s: dependency %s", c.Name, e.Name), e.Ack
	}
	if ack > 0 {
		text += fmt.Sprintf(", after request %d", ack)
	}
	return text + "\n"
}

func orNothing(s string) string {
	if s == "" {
		return "nothing\n"
	}
	return s
}

func membersFrom(in string) []Member {
	var out []Member
	for line := range strings.Lines(in) {
		f := strings.Fields(line)
		m := Member{Name: f[0]}
		for _, w := range f[1:] {
			switch w {
			case "lazy":
				m.Lazy = true
			case "job":
				m.Job = true
			default:
				m.DependsOn = append(m.DependsOn, w)
			}
		}
		out = append(out, m)
	}
	return out
}

func arg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func duration(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	v := arg(d, key)
	if v == "" {
		return 0
	}
	out, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return out
}

func rulesFrom(t *testing.T, d *datadriven.TestData) HostRules {
	r := HostRules{Restart: DefaultRestart(), StartTimeout: time.Minute, KillAfter: 30 * time.Second}
	r.Restart.Backoff.Jitter = 0
	if p := arg(d, "policy"); p != "" {
		r.Restart.Policy = Policy(p)
	}
	if m := arg(d, "max"); m != "" {
		scan(t, m, &r.Restart.MaxCrashes)
	}
	if w := duration(t, d, "window"); w != 0 {
		r.Restart.Window = w
	}
	r.Restart.RetryFailed = duration(t, d, "retry")
	r.Gated = d.HasArg("gated")
	r.Eager = d.HasArg("eager")
	r.Job = d.HasArg("job")
	if m := arg(d, "max-starting"); m != "" {
		scan(t, m, &r.MaxStarting)
	}
	r.Protocol = arg(d, "protocol")
	r.WaitSlow = d.HasArg("wait")
	r.QuietAfter = duration(t, d, "quiet")
	r.StartTimeout = cmp.Or(duration(t, d, "start-timeout"), r.StartTimeout)
	if d.HasArg("report-only") {
		r.KillAfter = 0
	}
	if s := arg(d, "success"); s != "" {
		var st ExitStatus
		scan(t, s, &st.Code)
		r.Restart.Success = append(r.Restart.Success, st)
	}
	if s := arg(d, "success-signal"); s != "" {
		var st ExitStatus // as a configuration says it
		scan(t, s, &st.Signal)
		r.Restart.Success = append(r.Restart.Success, st)
	}
	return r
}

func eventFrom(t *testing.T, d *datadriven.TestData, h Host) Event {
	life := h.Life()
	if l := arg(d, "life"); l != "" {
		scan(t, l, &life)
	}
	by := By(arg(d, "by"))
	ack := h.requested // the group has acted on all requests, unless a script says otherwise
	if a := arg(d, "ack"); a != "" {
		scan(t, a, &ack)
	}
	switch d.Cmd {
	case "start":
		return Start{by, ack}
	case "stop":
		return Stop{by, "asked for", d.HasArg("back"), ack}
	case "wish":
		return Wish{by}
	case "op":
		why := arg(d, "due")
		if why != "" {
			why = "schedule " + why
		}
		return Operate{Operation(d.CmdArgs[0].Key), cmp.Or(by, ByPerson), 1, why}
	case "replace":
		return Replace{rulesFrom(t, d), d.HasArg("restart")}
	case "stop-refused":
		return StopRefused{ack}
	case "waits":
		return Waits{d.CmdArgs[0].Key, ack}
	case "reset":
		return Reset{}
	case "dependency-failed":
		return DependencyFailed{d.CmdArgs[0].Key, ack}
	case "granted":
		return SlotGranted{life}
	case "queued":
		return SlotQueued{life}
	case "ready":
		return Ready{life}
	case "hung":
		return Hung{life, 3 * time.Second, strings.TrimSpace(d.Input)}
	case "alive":
		return Alive{life, d.HasArg("check")}
	case "advice":
		return Advice{life, d.HasArg("cleared")}
	case "vanished":
		return Vanished{life, rest(d)}
	case "torn":
		return Torn{}
	case "gone":
		return Gone{life, strings.TrimSpace(d.Input)}
	case "fired":
		return Fired{Timer(slices.Index(timerNames, d.CmdArgs[0].Key))}
	case "exit":
		var code int
		scan(t, d.CmdArgs[0].Key, &code)
		return Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: code}, Cleared: d.HasArg("cleared"), Asked: advisers(t, d), Rest: rest(d)}
	case "killed":
		var sig int
		scan(t, d.CmdArgs[0].Key, &sig)
		return Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: -1, Signal: sig}, Cleared: d.HasArg("cleared"), Asked: advisers(t, d), Rest: rest(d)}
	case "ended":
		return Ended{Life: life, Cause: Cause(d.CmdArgs[0].Key), Detail: strings.TrimSpace(d.Input), Cleared: d.HasArg("cleared"), Asked: advisers(t, d), Rest: rest(d)}
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

// rest is what is left of a life: "rest=tree", "rest=nothing".
func rest(d *datadriven.TestData) Rest {
	return Rest(max(0, slices.Index([]string{"", "tree", "nothing"}, arg(d, "rest"))))
}

// advisers is how many were asked for advice: "asked", "asked=2".
func advisers(t *testing.T, d *datadriven.TestData) (n int) {
	if text := arg(d, "asked"); text != "" {
		scan(t, text, &n)
	} else if d.HasArg("asked") {
		n = 1
	}
	return n
}

// timerNames are what scripts call the timers.
var timerNames = []string{"start", "quiet", "kill", "backoff", "shortage", "retry", "advice"}

func showEffects(effects []Effect) string {
	var b strings.Builder
	for _, e := range effects {
		switch e := e.(type) {
		case Transition:
			fmt.Fprintf(&b, "%s -> %s", e.From, e.To)
			if e.Reason != "" {
				fmt.Fprintf(&b, " (%s)", e.Reason)
			}
			if e.By != "" {
				fmt.Fprintf(&b, " by %s", e.By)
			}
			if e.First {
				b.WriteString(", the first")
			}
			b.WriteByte('\n')
		case Tried:
			b.WriteString("the first start has had its outcome\n")
		case SpawnLife:
			fmt.Fprintf(&b, "spawn life %d\n", e.Life)
		case TakeSlot:
			fmt.Fprintf(&b, "take a slot for life %d\n", e.Life)
		case GiveSlot:
			fmt.Fprintf(&b, "give back the slot of life %d\n", e.Life)
		case StopLife:
			fmt.Fprintf(&b, "stop life %d\n", e.Life)
		case KillLife:
			fmt.Fprintf(&b, "kill life %d: %s: %s\n", e.Life, e.Cause, e.Detail)
		case AwaitTree:
			fmt.Fprintf(&b, "await the end of the processes of life %d\n", e.Life)
		case SetTimer:
			fmt.Fprintf(&b, "timer %s %s\n", timerNames[e.Timer], e.After)
		case CancelTimer:
			fmt.Fprintf(&b, "no timer %s\n", timerNames[e.Timer])
		case AskStart:
			fmt.Fprintf(&b, "request %d: a start (%s)\n", e.Number, e.By)
		case TellStop:
			fmt.Fprintf(&b, "request %d: it was stopped\n", e.Number)
		case AskStop:
			fmt.Fprintf(&b, "request %d: may it be stopped\n", e.Number)
		case Done:
			fmt.Fprintf(&b, "done %d: %v", e.ID, e.OK)
			if !e.OK {
				fmt.Fprintf(&b, ", %s (%s)", e.State, e.Reason)
			}
			b.WriteByte('\n')
		case Shortage:
			fmt.Fprintf(&b, "shortage: life %d: %s: again in %s\n", e.Life, e.Detail, e.Wait)
		case Slow:
			fmt.Fprintf(&b, "slow: life %d after %s\n", e.Life, e.After)
		case Adopt:
			b.WriteString("adopt the new configuration\n")
		case Unadvised:
			fmt.Fprintf(&b, "decided without advice: life %d\n", e.Life)
		case Quiet:
			fmt.Fprintf(&b, "quiet: life %d: %s\n", e.Life, e.Reason)
		}
	}
	return orNothing(b.String())
}

// scan reads a number of a script.
func scan(t *testing.T, text string, into any) {
	t.Helper()
	if _, err := fmt.Sscan(text, into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
