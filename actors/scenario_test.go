package actors

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
)

func alone(h HostSpec) []GroupSpec {
	return []GroupSpec{{Name: h.Name, Hosts: []HostSpec{h}}}
}

// The next life begins at once, then after a back-off, until the host is given up;
// each crash has its process and its report.
func TestHostRestartsAndGivesUp(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a"}}), func(s *simulation) {
		s.exits("a", 3)
		s.exits("a", 3)
		s.passes(100 * time.Millisecond)
		s.exits("a", 3)
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → crashed (exit 3), pid 1, report, exit
			0s a: crashed → restarting (exit 3: again now, crash 1 of 3 in 5m0s), pid 1
			0s a: restarting → starting (restart)
			0s a: starting → running (ready), pid 2
			0s a: running → crashed (exit 3), pid 2, report, exit
			0s a: crashed → restarting (exit 3: again in 100ms, crash 2 of 3 in 5m0s), pid 2
			100ms a: restarting → starting (restart)
			100ms a: starting → running (ready), pid 3
			100ms a: running → crashed (exit 3), pid 3, report, exit
			100ms a: crashed → failed (exit 3: crash 3 in 5m0s, given up), pid 3, report
			100ms escalated: host a has failed
			0s supervisor: ready
		`)
		if want := "a a: exit 3: crash 3 in 5m0s, given up"; len(s.failed) != 1 || s.failed[0] != want {
			t.Errorf("told of %q, want %q", s.failed, want)
		}
		list, err := s.world.Reports.List("a")
		if err != nil || len(list) != 3 {
			t.Fatalf("%d reports: %v", len(list), err)
		}
		for _, r := range list {
			if r.State != lifecycle.Running || r.PID == 0 || !strings.HasPrefix(r.Next, "exit 3: ") || r.Reason != "exit 3" {
				t.Errorf("report of life %d: pid %d, %s, %q, %q", r.Life, r.PID, r.State, r.Reason, r.Next)
			}
		}
		reset := s.do("a", VerbReset)
		s.tells(`
			100ms a: reset: crash window cleared
			100ms a: failed → starting (asked for)
			100ms a: starting → running (ready), pid 4
		`)
		if reset() != "done" {
			t.Errorf("reset: %s", reset())
		}
	})
}

// A host that has failed and is stopped is stopped, with nothing to end.
func TestFailedHostIsStopped(t *testing.T) {
	h := HostSpec{Spec: hostspec.Spec{Name: "a"}}
	h.Restart.MaxCrashes = 1
	simulate(t, nil, alone(h), func(s *simulation) {
		s.exits("a", 1)
		stop := s.do("a", VerbStop)
		start := s.do("a", VerbRaise)
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → crashed (exit 1), pid 1, report, exit
			0s a: crashed → failed (exit 1: crash 1 in 5m0s, given up), pid 1, report
			0s a: failed → stopped (stopped by request)
			0s escalated: host a has failed
			0s supervisor: ready
		`)
		if stop() != "done" || !strings.Contains(start(), "stopped") {
			t.Errorf("stop: %s; raise: %s", stop(), start())
		}
	})
}

// A stop goes from the signal to SIGKILL, and a process that does not end even
// then is told of and not waited for any longer.
func TestStopGoesToTheLast(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a"}}), func(s *simulation) {
		s.set(func() { s.running["a"].deaf = true })
		stop := s.do("a", VerbStop)
		s.passes(4999 * time.Millisecond)
		if stop() != "open" {
			t.Errorf("stop: %s", stop())
		}
		s.passes(time.Millisecond)
		if stop() != "done" {
			t.Errorf("stop: %s", stop())
		}
		start := s.do("a", VerbStart)
		if start() != "done" {
			t.Errorf("start: %s", start())
		}
		s.set(func() { s.running["a"].stuck = true })
		stop = s.do("a", VerbStop)
		s.passes(time.Minute)
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → stopping (stopped by request), pid 1
			5s a: stopping → stopped (stopped by request)
			5s a: stopped → starting (asked for)
			5s a: starting → running (ready), pid 2
			5s a: running → stopping (stopped by request), pid 2
			20s a: stuck: a.2 is still there 10s after SIGKILL
			20s a: stopping → failed (a.2 is still there 10s after SIGKILL)
			20s escalated: host a has failed
			0s supervisor: ready
		`)
		if !strings.Contains(stop(), "still there") {
			t.Errorf("stop: %s", stop())
		}
		s.set(func() { s.running["a"].stuck = false })
	})
}

// The next life waits until nothing is left of the last one.
func TestNextLifeWaitsForTheTree(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a"}}), func(s *simulation) {
		p := s.process("a")
		s.set(func() { p.stuck = true })
		p.End(sandbox.Exit{Code: 3})
		synctest.Wait()
		if got, want := s.world.Ref("a").snapshot().machine.Explanation(), "when the processes of the last life have ended"; !strings.HasSuffix(got, want) {
			t.Errorf("%q, want … %q", got, want)
		}
		s.passes(time.Second)
		p.Vanish()
		synctest.Wait()
		s.set(func() { p.over = true })
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → crashed (exit 3), pid 1, report, exit
			0s a: crashed → restarting (exit 3: again now, crash 1 of 3 in 5m0s), pid 1
			1s a: restarting → starting (restart)
			1s a: starting → running (ready), pid 2
			0s supervisor: ready
		`)
	})
}

// What the supervisor lacks itself is no crash: the start goes on.
func TestStartWaitsForWhatIsShort(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a", Start: hostspec.StartRule{Lazy: true}}}), func(s *simulation) {
		s.set(func() { s.refuse["a"] = syscall.EAGAIN })
		start := s.do("a", VerbStart)
		if !strings.Contains(start(), "short of processes") {
			t.Errorf("start: %s", start())
		}
		s.passes(150 * time.Millisecond)
		s.set(func() { s.refuse["a"] = nil })
		s.passes(time.Second)
		s.tells(`
			0s a: - → starting (asked for)
			0s a: shortage: the supervisor's user or cgroup is short of processes: start a.1: cannot make a process: resource temporarily unavailable; again in 100ms
			100ms a: shortage: the supervisor's user or cgroup is short of processes: start a.2: cannot make a process: resource temporarily unavailable; again in 200ms
			300ms a: starting → running (ready), pid 1
			0s supervisor: ready
		`)
		s.set(func() { s.refuse["a"] = errors.New("no such program") })
		s.exits("a", 0)
		s.do("a", VerbStart)
		s.tells(`
			1.15s a: running → stopped (exit 0), pid 1, exit
			1.15s a: stopped → starting (asked for)
			1.15s a: starting → crashed (spawn: start a.4: cannot make a process: no such program), report, exit
			1.15s a: crashed → restarting (spawn: start a.4: cannot make a process: no such program: again now, crash 1 of 3 in 5m0s)
			1.15s a: restarting → starting (restart)
			1.15s a: starting → crashed (spawn: start a.5: cannot make a process: no such program), report, exit
			1.15s a: crashed → restarting (spawn: start a.5: cannot make a process: no such program: again in 100ms, crash 2 of 3 in 5m0s)
		`)
	})
}

// No more hosts start at once than may, and one that waits says so and can be
// stopped.
func TestStartsWaitForTheirTurn(t *testing.T) {
	lazy := hostspec.StartRule{Lazy: true}
	group := []GroupSpec{{Name: "g", Hosts: []HostSpec{{Spec: hostspec.Spec{Name: "a", Start: lazy}}, {Spec: hostspec.Spec{Name: "b", Start: lazy}}, {Spec: hostspec.Spec{Name: "c", Start: lazy}}}}}
	simulate(t, func(s *simulation) { s.world.MaxStarting = 1 }, group, func(s *simulation) {
		gate := make(chan struct{})
		s.set(func() { s.hold["a"] = gate })
		a, b, c := s.do("a", VerbStart), s.do("b", VerbStart), s.do("c", VerbStart)
		if got, want := s.world.Ref("b").snapshot().machine.Explanation(), "asked for, waiting for a place: another host is starting"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		stop := s.do("b", VerbStop)
		s.passes(time.Second)
		close(gate)
		synctest.Wait()
		s.tells(`
			0s a: - → starting (asked for)
			1s a: starting → running (ready), pid 1
			0s b: - → starting (asked for, waiting for a place: another host is starting)
			0s b: starting → stopping (stopped by request)
			0s b: stopping → stopped (stopped by request)
			0s c: - → starting (asked for, waiting for a place: another host is starting)
			1s c: starting → running (ready), pid 1
			0s supervisor: ready
		`)
		if a() != "done" || c() != "done" || stop() != "done" || !strings.Contains(b(), "stopped by request") {
			t.Errorf("a: %s; b: %s; stop: %s; c: %s", a(), b(), stop(), c())
		}
		if n := s.world.slots.Taken(); n != 0 {
			t.Errorf("%d start slots are taken", n)
		}
	})
}

// A group starts what is needed first and stops it last, and its strategy says who
// shares a fate.
func TestGroupSharesFate(t *testing.T) {
	group := []GroupSpec{{Name: "g", Strategy: lifecycle.RestForOne, Hosts: []HostSpec{
		{Spec: hostspec.Spec{Name: "log"}}, {Spec: hostspec.Spec{Name: "web", Start: hostspec.StartRule{DependsOn: []string{"db"}}}}, {Spec: hostspec.Spec{Name: "db"}},
	}}}
	simulate(t, nil, group, func(s *simulation) {
		s.tells(`
			0s db: - → starting (configured)
			0s db: starting → running (ready), pid 1
			0s log: - → starting (configured)
			0s log: starting → running (ready), pid 1
			0s web: - → starting (configured)
			0s web: starting → running (ready), pid 1
			0s supervisor: ready
		`)
		s.exits("db", 3)
		s.tells(`
			0s db: running → crashed (exit 3), pid 1, report, exit
			0s db: crashed → restarting (exit 3: again now, crash 1 of 3 in 5m0s), pid 1
			0s db: restarting → starting (restart)
			0s db: starting → running (ready), pid 2
			0s web: running → stopping (group: db crashed), pid 1
			0s web: stopping → stopped (group: db crashed)
			0s web: stopped → starting (restart with its group)
			0s web: starting → running (ready), pid 2
		`)
		stop := s.do("db", VerbStop)
		s.passes(time.Second)
		s.tells(`
			0s db: running → stopping (stopped by request), pid 2
			0s db: stopping → stopped (stopped by request)
		`)
		start := s.do("web", VerbRestart)
		s.tells(`
			1s db: stopped → starting (needed by another host)
			1s db: starting → running (ready), pid 3
			1s web: running → stopping (restart asked for), pid 2
			1s web: stopping → stopped (restart asked for)
			1s web: stopped → starting (asked for)
			1s web: starting → running (ready), pid 3
		`)
		for _, host := range []string{"db", "web", "log"} {
			s.set(func() { s.running[host].deaf = true })
		}
		down := s.shutdown()
		s.passes(time.Minute)
		s.tells(`
			6s db: running → stopping (supervisor stops), pid 3
			11s db: stopping → stopped (supervisor stops)
			1s log: running → stopping (supervisor stops), pid 1
			6s log: stopping → stopped (supervisor stops)
			1s web: running → stopping (supervisor stops), pid 3
			6s web: stopping → stopped (supervisor stops)
			1s supervisor: stopping
			11s supervisor: stopped
		`)
		if stop() != "done" || start() != "done" || down() != "done" {
			t.Errorf("stop: %s; start: %s; shutdown: %s", stop(), start(), down())
		}
	})
}

// A start that hangs is stopped as soon as it has come to something.
func TestStopOfAStartThatHangs(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a", Start: hostspec.StartRule{Lazy: true}}}), func(s *simulation) {
		gate := make(chan struct{})
		s.set(func() { s.hold["a"] = gate })
		start, stop := s.do("a", VerbStart), s.do("a", VerbStop)
		s.passes(time.Minute)
		if got := []string{stop(), start()}; got[0] != "open" || got[1] == "open" {
			t.Errorf("%q", got)
		}
		close(gate)
		s.passes(time.Second)
		s.tells(`
			0s a: - → starting (asked for)
			0s a: starting → stopping (stopped by request)
			1m0s a: stopping → stopped (stopped by request)
			0s supervisor: ready
		`)
		if stop() != "done" {
			t.Errorf("stop: %s", stop())
		}
	})
}

// A life that is torn down while its process is being made never talks to it. Its actor hears
// of the process all the same, because it waits for that of the process, which takes its time.
func TestLifeIsTornDownDuringItsStart(t *testing.T) {
	h := HostSpec{Spec: hostspec.Spec{Name: "a", Start: hostspec.StartRule{Lazy: true}, Protocol: native.New()}}
	h.Restart.Policy = lifecycle.Never
	simulate(t, nil, alone(h), func(s *simulation) {
		gate := make(chan struct{})
		s.set(func() { s.hold["a"], s.wedge = gate, "a" })
		start := s.do("a", VerbStart)
		s.passes(time.Second)
		pid := s.world.Ref("a").pid
		s.world.System.Root.Stop(actor.NewPID(pid.Address, pid.Id+"/life-1"))
		synctest.Wait()
		close(gate)
		s.passes(time.Minute)
		s.tells(`
			0s a: - → starting (asked for)
			5s a: slow: no handshake 5s after its start: the program does not answer in protocol "hostsup" (the default); one that speaks no protocol needs protocol = "none"
			11s a: starting → crashed (internal: the actor of the life ended), report, exit
			11s a: crashed → stopped (internal: the actor of the life ended), exit
			0s supervisor: ready
		`)
		if start() == "done" || start() == "open" {
			t.Errorf("start: %s", start())
		}
	})
}

// An actor of a life that is lost is a crash of the life, and never a second one.
func TestLostActorsOfALife(t *testing.T) {
	h := HostSpec{Spec: hostspec.Spec{Name: "a"}}
	h.Restart.MaxCrashes = 10
	simulate(t, nil, alone(h), func(s *simulation) {
		system := s.world.System.Root
		part := func(life string) *actor.PID {
			pid := s.world.Ref("a").pid
			return actor.NewPID(pid.Address, pid.Id+"/"+life)
		}
		safeactor.Tell(system, part("life-1/process"), Defect("process"))
		synctest.Wait()
		system.Stop(part("life-2"))
		s.passes(time.Second)
		safeactor.Tell(system, part("life-3"), Defect("life"))
		s.passes(time.Second)
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → crashed (internal: the actor of the process ended), pid 1, report, exit
			0s a: crashed → restarting (internal: the actor of the process ended: again now, crash 1 of 10 in 5m0s), pid 1
			0s a: restarting → starting (restart)
			0s a: starting → running (ready), pid 2
			0s a: running → crashed (internal: the actor of the life ended), pid 2, report, exit
			0s a: crashed → restarting (internal: the actor of the life ended: again in 100ms, crash 2 of 10 in 5m0s), pid 2
			100ms a: restarting → starting (restart)
			100ms a: starting → running (ready), pid 3
			1s a: running → crashed (internal: the actor of the life ended), pid 3, report, exit
			1s a: crashed → restarting (internal: the actor of the life ended: again in 200ms, crash 3 of 10 in 5m0s), pid 3
			1.2s a: restarting → starting (restart)
			1.2s a: starting → running (ready), pid 4
			0s supervisor: ready
		`)
		if n := s.pids["a"]; n != 4 {
			t.Errorf("%d processes", n)
		}
	})
}

// A call to a lazy host starts it, and one to a host that is down is answered.
func TestCallsOfAHostWithoutConnection(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a", Start: hostspec.StartRule{Lazy: true}}}), func(s *simulation) {
		ref := s.world.Ref("a")
		call := func() *Request {
			ref.pending.Add(1)
			q := newRequest(ref, ref.spec(), "echo", nil)
			ref.hand(q)
			synctest.Wait()
			return q
		}
		first := call()
		s.do("a", VerbStop)
		second := call()
		s.tells(`
			0s a: - → starting (first call)
			0s a: starting → running (ready), pid 1
			0s a: running → stopping (stopped by request), pid 1
			0s a: stopping → stopped (stopped by request)
			0s supervisor: ready
		`)
		for i, q := range []*Request{first, second} {
			if _, err := q.Outcome(); !q.IsSettled() || !errors.Is(err, ErrStopped) {
				t.Errorf("call %d: %v", i+1, err)
			}
		}
	})
}
