package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// unit is one actor in a synctest bubble, with stand-ins for all others of the tree:
// a parent, and the probes that a test makes. They keep what they are told.
type unit struct {
	*simulation
	pid, parent *actor.PID
	conn        atomic.Pointer[conn] // of the last life that was ready

	told     sync.Mutex // of what follows
	heard    []string
	failures []*Failure // of the actor, as its parent's strategy got them
}

// HandleFailure implements actor.SupervisorStrategy.
func (u *unit) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	u.told.Lock()
	f, _ := reason.(*Failure)
	u.failures = append(u.failures, f)
	u.told.Unlock()
	parent.StopChildren(child)
}

// alonePart runs f with an actor that make returns, whose name is "a".
func alonePart(t *testing.T, make func(u *unit) actor.Actor, f func(u *unit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := hclog.NewNullLogger()
		crashes, err := reports.Open[record.CrashReport]("", reports.Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := &unit{simulation: newSimulation(t, &World{
			System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil), Reports: crashes,
			Strategies: Strategies{Root: stops{}, Group: stops{}, Host: toHost{}, Life: stops{}},
		})}
		root := u.world.System.Root
		_, err = root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *actor.Started:
				u.pid = actor.NewPID(ctx.Self().Address, ctx.Self().Id+"/a")
				u.parent = ctx.Self()
				a := make(u)
				var below actor.SupervisorStrategy = stops{}
				if _, host := a.(*Host); host {
					below = toHost{}
				}
				if _, err := ctx.SpawnNamed(safeactor.Props(log, func() actor.Actor { return a }, actor.WithSupervisor(below)), "a"); err != nil {
					t.Error(err)
				}
			default:
				u.hear("parent", m)
			}
		}, actor.WithSupervisor(u)), "parent")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f(u)
		root.Stop(u.parent)
		u.passes(time.Minute)
		if err := errors.Join(u.world.Close(), crashes.Close()); err != nil {
			t.Error(err)
		}
		u.world.Journal.Close()
	})
}

// probe makes a stand-in for another actor.
func (u *unit) probe(name string) *actor.PID {
	pid, err := u.world.System.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) { u.hear(name, ctx.Message()) }), name)
	if err != nil {
		u.t.Fatal(err)
	}
	return pid
}

// hear keeps what somebody is told, in words.
func (u *unit) hear(who string, m any) {
	var text string
	switch m := m.(type) {
	case *actor.Started, *actor.Stopping, *actor.Terminated:
		return
	case *actor.Stopped:
		text = "stopped"
	case *hostChanged:
		text = string(m.to)
		if m.answer {
			text = "carried out, " + text
		}
	case *groupEvent:
		text = fmt.Sprintf("%T %+v", m.ev, m.ev)
	case *fromGroup:
		text = fmt.Sprintf("%T %+v", m.ev, m.ev)
	case *lifeSpawned:
		text = fmt.Sprintf("spawned, pid %d", m.child.Pid())
	case *lifeReady:
		u.conn.Store(m.conn)
		text = fmt.Sprintf("ready, liveness %s", m.liveness)
	case *lifeEnded:
		text = "ended: " + m.Error()
	case *escalated:
		text = fmt.Sprintf("escalated %s/%s: %s", m.group, m.host, m.reason)
	default:
		text = fmt.Sprintf("%T", m)
	}
	u.told.Lock()
	defer u.told.Unlock()
	u.heard = append(u.heard, who+": "+strings.ReplaceAll(strings.ReplaceAll(text, "*actors.", ""), "lifecycle.", ""))
}

// send sends the actor messages, and waits for what follows at once.
func (u *unit) send(messages ...any) {
	for _, m := range messages {
		safeactor.Tell(u.world.System.Root, u.pid, m)
		synctest.Wait()
	}
}

// hears compares what the stand-ins were told since the last call: of each in its
// order, those by name.
func (u *unit) hears(want ...string) {
	u.t.Helper()
	synctest.Wait()
	u.told.Lock()
	defer u.told.Unlock()
	name := func(line string) string { return line[:strings.Index(line, ":")] }
	slices.SortStableFunc(u.heard, func(a, b string) int { return strings.Compare(name(a), name(b)) })
	if !slices.Equal(u.heard, want) {
		u.t.Errorf("told:\n%s\nwant:\n%s", strings.Join(u.heard, "\n"), strings.Join(want, "\n"))
	}
	u.heard = nil
}

// hostUnit is a Host whose group is a stand-in.
func hostUnit(spec HostSpec, gated bool) func(u *unit) actor.Actor {
	return func(u *unit) actor.Actor {
		spec.Name = "a"
		ref := newRef(u.world, "g", simSpec(spec))
		ref.gated, ref.pid = gated, u.pid
		ref.requestPrefix = u.pid.Id + "/request-"
		u.world.enter(ref)
		return newHost(u.world, ref)
	}
}

func start(ack int) *fromGroup {
	return &fromGroup{lifecycle.Start{By: lifecycle.ByTree, Ack: ack}, true}
}

// A host carries out a command, tells of each change, and then that it has.
func TestHostCarriesOutACommand(t *testing.T) {
	alonePart(t, hostUnit(HostSpec{}, false), func(u *unit) {
		u.send(start(0))
		u.hears("parent: starting", "parent: carried out, starting", "parent: running", "parent: firstTry")
		u.send(&fromGroup{lifecycle.Stop{By: lifecycle.ByPerson, Reason: "r"}, true})
		u.hears("parent: Unwant {Name:a Number:1}", "parent: stopping", "parent: carried out, stopping", "parent: stopped")
	})
}

// A host that shares a fate asks for each start, and takes none that is older than
// what it asked.
func TestGatedHostAsks(t *testing.T) {
	alonePart(t, hostUnit(HostSpec{}, true), func(u *unit) {
		u.send(start(0))
		u.exits("a", 3)
		u.heard = nil
		u.send(start(0))
		u.hears("parent: carried out, restarting")
		u.send(start(1))
		u.hears("parent: starting", "parent: carried out, starting", "parent: running")
		if u.pids["a"] != 2 {
			t.Errorf("%d processes", u.pids["a"])
		}
	})
}

// Nothing that is said of another life reaches the present one.
func TestHostKnowsItsLife(t *testing.T) {
	alonePart(t, hostUnit(HostSpec{}, false), func(u *unit) {
		u.send(start(0))
		u.heard = nil
		q := fakeCall(u.world.Ref("a"))
		u.send(&lifeReady{life: 7}, &verdict{life: 7, hung: true}, &lifeVanished{7}, &treeGone{life: 7}, &slotGranted{7},
			&lifeEnded{&Failure{Life: 7, Cause: lifecycle.CauseExit, Resend: []*Request{q}}})
		u.hears()
		if !q.IsSettled() || u.world.Ref("a").snapshot().machine.State() != lifecycle.Running {
			t.Error("the host listened to a life that is not its own")
		}
	})
}

// What is told of the liveness of a host kills it after KillAfter.
func TestHungHostIsKilled(t *testing.T) {
	alonePart(t, hostUnit(HostSpec{}, false), func(u *unit) {
		u.send(start(0), &verdict{life: 1, hung: true}, &verdict{life: 1})
		u.passes(time.Minute)
		u.heard = nil
		u.send(&verdict{life: 1, hung: true})
		u.passes(30*time.Second - 1)
		u.hears("parent: unresponsive")
		u.passes(1)
		u.hears("parent: crashed", "parent: restarting", "parent: starting", "parent: running")
	})
}

// lifeUnit is a Life whose host is a stand-in.
func lifeUnit(spec HostSpec) func(u *unit) actor.Actor {
	return func(u *unit) actor.Actor {
		spec.Name = "a"
		ref := newRef(u.world, "g", simSpec(spec))
		u.world.enter(ref)
		return newLife(newHost(u.world, ref), 1, u.parent)
	}
}

// A life that nobody stopped fails, with what its process ended with, and with the
// calls that may go to the next one.
func TestLifeFails(t *testing.T) {
	alonePart(t, lifeUnit(HostSpec{Spec: hostspec.Spec{Protocol: native.New()}}), func(u *unit) {
		u.send(&beginLife{})
		u.hears("parent: spawned, pid 1", "parent: ready, liveness ack")
		ref := u.world.Ref("a")
		c := u.conn.Load()
		calls := []*Request{fakeCall(ref), fakeCall(ref)}
		calls[1].idempotent = true
		for _, q := range calls {
			if err := c.sendNow(q); err != nil {
				t.Fatal(err)
			}
		}
		u.exits("a", 3)
		u.hears()
		if len(u.failures) != 1 {
			t.Fatalf("%d failures", len(u.failures))
		}
		f := u.failures[0]
		if f.Error() != "exit 3" || f.Life != 1 || f.Exit == nil || f.Pending != 1 || len(f.Resend) != 1 || f.Resend[0] != calls[1] {
			t.Errorf("%+v", f)
		}
		if _, err := calls[0].Outcome(); !errors.Is(err, ErrCrashed) || calls[1].IsSettled() {
			t.Errorf("%v; the other call is settled: %v", err, calls[1].IsSettled())
		}
		calls[1].Settle(nil, ErrStopped)
	})
}

// A life that was stopped tells its host, and does not fail.
func TestStoppedLifeDoesNotFail(t *testing.T) {
	alonePart(t, lifeUnit(HostSpec{}), func(u *unit) {
		u.send(&beginLife{}, &stopLife{})
		u.hears("parent: spawned, pid 1", "parent: ready, liveness none", "parent: ended: killed by SIGTERM")
		if len(u.failures) != 0 {
			t.Errorf("%+v", u.failures)
		}
	})
}

// A life is killed for the reason that its host gives.
func TestLifeIsKilledForAReason(t *testing.T) {
	alonePart(t, lifeUnit(HostSpec{}), func(u *unit) {
		u.send(&beginLife{}, &killLife{lifecycle.CauseTimeout, "too slow"})
		if len(u.failures) != 1 || u.failures[0].Error() != "too slow" || u.failures[0].Exit.Signal == 0 {
			t.Errorf("%+v", u.failures)
		}
	})
}

// A life without a process fails with what was in its way.
func TestLifeThatCannotStart(t *testing.T) {
	alonePart(t, func(u *unit) actor.Actor {
		u.refuse["a"] = errors.New("no such program")
		return lifeUnit(HostSpec{})(u)
	}, func(u *unit) {
		u.send(&beginLife{})
		u.hears()
		if len(u.failures) != 1 || u.failures[0].Cause != lifecycle.CauseSpawn || u.failures[0].Exit != nil {
			t.Errorf("%+v", u.failures)
		}
	})
}

// groupUnit is a Group whose hosts are stand-ins.
func groupUnit(strategy lifecycle.Strategy, hosts ...HostSpec) func(u *unit) actor.Actor {
	return func(u *unit) actor.Actor {
		g, err := newGroup(u.world, GroupSpec{Name: "g", Strategy: strategy, Hosts: hosts})
		if err != nil {
			u.t.Error(err)
			return g
		}
		for _, h := range hosts {
			g.hosts[h.Name] = u.probe(h.Name)
			u.world.enter(newRef(u.world, "g", h))
		}
		return g
	}
}

var pair = []HostSpec{{Spec: hostspec.Spec{Name: "web", Start: hostspec.StartRule{DependsOn: []string{"db"}}}}, {Spec: hostspec.Spec{Name: "db"}}}

// A group starts a host when what it needs runs, and tells it what it waits for.
func TestGroupStartsInOrder(t *testing.T) {
	alonePart(t, groupUnit(lifecycle.OneForOne, pair...), func(u *unit) {
		u.send(&bootGroup{})
		u.hears("db: Start {By:tree Ack:0}", "web: Waits {For:db Ack:0}")
		u.send(&hostChanged{name: "db", to: lifecycle.Starting}, &hostChanged{name: "db", to: lifecycle.Starting, answer: true},
			&hostChanged{name: "db", to: lifecycle.Running})
		u.hears("web: Start {By:tree Ack:0}")
	})
}

// A host that gives up is told of above, unless another one has already been.
func TestGroupEscalates(t *testing.T) {
	alonePart(t, groupUnit(lifecycle.OneForOne, pair...), func(u *unit) {
		u.send(&hostChanged{name: "db", to: lifecycle.Failed, reason: "r"})
		u.hears("parent: escalated g/db: r")
		u.send(&hostChanged{name: "web", to: lifecycle.Failed, by: lifecycle.ByDependency, reason: "dependency db failed"})
		u.hears()
	})
}

// A host is taken out when its actor has ended, and not while another one needs it.
func TestGroupRemovesAHost(t *testing.T) {
	alonePart(t, groupUnit(lifecycle.OneForOne, pair...), func(u *unit) {
		var db, web, again outcomeOf
		u.send(&removeFromGroup{"db", db.set})
		if got := db.String(); got != `host "db" is needed by "web"` || u.world.Ref("db") == nil {
			t.Errorf("%s", got)
		}
		u.hears()
		u.send(&removeFromGroup{"web", web.set}, &removeFromGroup{"web", again.set})
		u.hears("web: Stop {By:person Reason:removed Back:false Ack:0}")
		u.send(&hostChanged{name: "web", to: lifecycle.Stopping})
		u.hears()
		u.send(&hostChanged{name: "web", to: lifecycle.Stopped, answer: true})
		u.hears("web: closeHost")
		if web.String() != "open" || !strings.Contains(again.String(), "no such host") || u.world.Ref("web") == nil {
			t.Errorf("%s, %s", web.String(), again.String())
		}
		u.send(&actor.Terminated{Who: actor.NewPID(u.pid.Address, "web")})
		if web.String() != "done" || u.world.Ref("web") != nil {
			t.Errorf("%s", web.String())
		}
	})
}

// A host whose actor is lost has failed for the others, and answers no command.
func TestGroupLosesAHost(t *testing.T) {
	alonePart(t, groupUnit(lifecycle.OneForAll, HostSpec{Spec: hostspec.Spec{Name: "b"}}, HostSpec{Spec: hostspec.Spec{Name: "c"}}), func(u *unit) {
		u.send(&bootGroup{}, &hostChanged{name: "b", to: lifecycle.Running}, &hostChanged{name: "b", to: lifecycle.Running, answer: true},
			&hostChanged{name: "c", to: lifecycle.Running}, &hostChanged{name: "c", to: lifecycle.Running, answer: true})
		u.heard = nil
		u.send(&actor.Terminated{Who: actor.NewPID(u.pid.Address, "b")})
		u.hears("c: Stop {By:group Reason:group: b failed Back:false Ack:0}", "parent: escalated g/b: its actor ended")
		if u.world.Ref("b") != nil {
			t.Error("its name is taken")
		}
	})
}

// rootUnit is the root of a tree whose groups are stand-ins.
func rootUnit(strategy lifecycle.Strategy, groups ...string) func(u *unit) actor.Actor {
	return func(u *unit) actor.Actor {
		s := &Supervisor{log: u.world.Log, world: u.world, eager: map[string]bool{"x": true, "y": true}, resting: make(map[string]bool)}
		for _, name := range groups {
			s.groups = append(s.groups, groupEntry{name, strategy, u.probe(name)})
		}
		return s
	}
}

// The tree is ready when each host that is not lazy has had its first try, or failed.
func TestRootIsReady(t *testing.T) {
	alonePart(t, rootUnit(lifecycle.OneForOne, "g"), func(u *unit) {
		var ready outcomeOf
		u.send(&Ask{&Ready{}, ready.set}, &firstTry{"x"})
		if ready.String() != "open" {
			t.Error(ready.String())
		}
		u.send(&escalated{"g", "y", "r"})
		if ready.String() != "done" {
			t.Error(ready.String())
		}
		u.hears("parent: Escalated")
	})
}

// A tree ends when all its groups are at rest, and refuses hosts meanwhile.
func TestRootShutsDown(t *testing.T) {
	alonePart(t, rootUnit(lifecycle.OneForAll, "g", "h"), func(u *unit) {
		var down, added outcomeOf
		u.send(&Ask{&Shutdown{}, down.set})
		u.hears("g: Shutdown {}", "h: Shutdown {}")
		u.send(&groupAtRest{"h"}, &Ask{&AddHost{Host: simSpec(HostSpec{Spec: hostspec.Spec{Name: "z"}})}, added.set}, &groupAtRest{"h"})
		if down.String() != "open" || added.String() != ErrClosed.Error() {
			t.Errorf("%s, %s", down.String(), added.String())
		}
		u.send(&groupAtRest{"g"})
		if down.String() != "done" {
			t.Error(down.String())
		}
	})
}

// A group without hosts ends, unless its strategy says more than its hosts do.
func TestRootEndsAnEmptyGroup(t *testing.T) {
	for strategy, want := range map[lifecycle.Strategy][]string{lifecycle.OneForOne: {"g: stopped"}, lifecycle.OneForAll: nil} {
		alonePart(t, rootUnit(strategy, "g"), func(u *unit) {
			u.send(&hostGone{"g"})
			u.hears(want...)
		})
	}
}
