//go:build linux

package integration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// story returns the state changes of a host so far: "starting running crashed".
func story(sup *supervisor.Supervisor, name string) string {
	var out []string
	for _, e := range sup.History() {
		if e.Kind == "state" && *e.Host == name {
			out = append(out, string(*e.To))
		}
	}
	return strings.Join(out, " ")
}

// silence is the one figure in a reason that no test can foresee.
var silence = regexp.MustCompile(`no sign of life for \S+`)

// line is an event as the stories tell it.
func line(e supervisor.Event) string {
	reason := silence.ReplaceAllString(e.Reason, "no sign of life")
	if e.Kind == "state" {
		return string(*e.To) + ": " + reason
	}
	return e.Kind + ": " + reason
}

// expect waits until the events of a host, from its first one on, are those of
// a story, and fails at the first that differs. Each line of the story is
// "state: reason" or "kind: reason"; a line may end in … for whatever follows.
func expect(t testing.TB, sup *supervisor.Supervisor, name, want string) {
	t.Helper()
	lines := strings.FieldsFunc(want, func(r rune) bool { return r == '\n' })
	var got []string
	var trace strings.Builder
	c := ctx(t)
	for e := range sup.Follow(c) {
		if e.Host == nil || *e.Host != name || e.Kind == "added" || e.Kind == "removed" {
			continue
		}
		next := strings.TrimSpace(lines[0])
		got = append(got, line(e))
		open, some := strings.CutSuffix(next, "…")
		if !some && line(e) != next || some && !strings.HasPrefix(line(e), open) {
			t.Fatalf("the story of %s goes\n\t%s\nwant at its end\n\t%s", name, strings.Join(got, "\n\t"), next)
		}
		if !some {
			open = line(e)
		}
		fmt.Fprintln(&trace, traceLine(e, open))
		if lines = lines[1:]; len(lines) == 0 {
			holdTrace(t, name, trace.String())
			return
		}
	}
	t.Fatalf("the story of %s ends with\n\t%s\nwant next\n\t%s", name, strings.Join(got, "\n\t"), strings.TrimSpace(lines[0]))
}

// scene is one story being played.
type scene struct {
	t   testing.TB
	sup *supervisor.Supervisor
	h   *supervisor.Host
}

// step is one thing that is done to a host, or waited for.
type step func(*scene)

type steps []step

// is waits for a state.
func is(s lifecycle.State) step {
	return func(sc *scene) { until(sc.t, sc.h, s) }
}

// lives waits until that life is running.
func lives(n uint64) step { return func(sc *scene) { runs(sc.t, sc.h, n) } }

// call makes a call whose outcome does not matter.
func call(method string, in any) step {
	return func(sc *scene) { _ = sc.h.Call(ctx(sc.t), method, in, nil) }
}

// exits lets the host exit with a code, and dies lets it end by a signal.
func exits(code int) step     { return call("exit", map[string]int{"code": code}) }
func dies(signal string) step { return call("crash", map[string]string{"signal": signal}) }

// asks makes a request and does not wait for it.
func asks(method string, in any) step {
	return func(sc *scene) {
		if _, err := sc.h.Go(ctx(sc.t), method, in); err != nil {
			sc.t.Fatal(err)
		}
	}
}

// does wraps what has no step of its own.
func does(f func(*scene)) step { return f }

// change alters the spec of a demo host.
type change = func(*supervisor.HostSpec)

// startsLike makes the demo host start in one of its bad ways.
func startsLike(how string) change {
	return func(s *supervisor.HostSpec) { s.Env["HOSTSUP_DEMO_START"] = how }
}

// plays gives the host another role of this program.
func plays(role string) change { return func(s *supervisor.HostSpec) { s.Env[roleEnv] = role } }

// watched makes a hang visible, and fatal, in a moment: one that is longer than
// a process may have to wait for its turn on a busy machine.
func watched(s *supervisor.HostSpec) {
	s.Liveness.After, s.Liveness.KillAfter, s.Liveness.Ping = 2*time.Second, 500*time.Millisecond, 200*time.Millisecond
}

// reported is watched without the kill.
func reported(s *supervisor.HostSpec) {
	watched(s)
	s.Liveness.NeverKill = true
}

// crashes sets how many are too many.
func crashes(n int) change { return func(s *supervisor.HostSpec) { s.Restart.MaxCrashes = n } }

func policy(p lifecycle.Policy) change { return func(s *supervisor.HostSpec) { s.Restart.Policy = p } }

// patient makes the back-off so long that no test sees its end.
func patient(s *supervisor.HostSpec) {
	s.Restart.Backoff.Initial, s.Restart.Backoff.Max = time.Hour, time.Hour
}

// runCommand replaces the demo host by a program that speaks no protocol.
func runCommand(args ...string) change {
	return func(s *supervisor.HostSpec) { s.Command, s.Protocol = args, nil }
}
