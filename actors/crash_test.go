package actors

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// watchedStrategy tells seen of each failure.
type watchedStrategy struct {
	actor.SupervisorStrategy
	seen func(actor string, message any)
}

func (w watchedStrategy) HandleFailure(sys *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, message any) {
	w.seen("strategy", reason)
	w.SupervisorStrategy.HandleFailure(sys, parent, child, rs, reason, message)
}

// TestWayOfACrash holds what lies between the exit of a process, which its pidfd
// tells, and the start of the next one: five mailboxes. The sixth hop is the thread of
// sandbox.Launcher that all processes are started from. An interceptor that is told of
// the end adds none.
func TestWayOfACrash(t *testing.T) {
	for name, h := range map[string]HostSpec{"no protocol": {Spec: hostspec.Spec{Name: "a"}}, "connection": {Spec: hostspec.Spec{Name: "a", Protocol: native.New()}}} {
		t.Run(name, func(t *testing.T) {
			var (
				mu   sync.Mutex
				way  []string
				ends bool // what comes belongs to the way
			)
			// The group, what is left of a life, and the connection are beside the way; so
			// are the ends of actors.
			beside := func(who string, m any) bool {
				switch m.(type) {
				case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Terminated, *connEnded, *lifeVanished:
					return true
				}
				return strings.HasPrefix(who, "aftermath") || who == "connection"
			}
			watch := func(s *simulation) {
				s.seen = func(who string, m any) {
					mu.Lock()
					defer mu.Unlock()
					if _, group := m.(*hostChanged); ends && !group && !beside(who, m) {
						way = append(way, fmt.Sprintf("%s: %s", who, strings.TrimPrefix(fmt.Sprintf("%T", m), "*actors.")))
					}
				}
				s.world.Strategies.Host = watchedStrategy{s.world.Strategies.Host, s.seen}
				s.started = func() {
					mu.Lock()
					defer mu.Unlock()
					ends = false
				}
			}
			simulate(t, watch, alone(h), func(s *simulation) {
				s.world.Ref("a").Intercept(&Interceptor{Name: "told", Ended: func(LifeEnd) {}})
				synctest.Wait()
				mu.Lock()
				ends = true
				mu.Unlock()
				s.exits("a", 3)
				mu.Lock()
				defer mu.Unlock()
				want := []string{"life-1: *osprocess.Exited", "strategy: Failure", "a: lifeEnded", "life-2: beginLife", "process: *osprocess.Start"}
				if !slices.Equal(way, want) {
					t.Errorf("the way of a crash is\n%s\nwant\n%s", strings.Join(way, "\n"), strings.Join(want, "\n"))
				}
			})
		})
	}
}
