package osprocess

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/sandbox"
)

// starts is a launcher whose processes end at SIGTERM and at a kill, in the test alone.
type starts struct {
	refuse error
	killed bool
}

func (l *starts) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	over := false
	p := sandbox.NewSimulated(cmd, 1, func(p *sandbox.Simulated, sig os.Signal) {
		if sig == os.Kill {
			l.killed = true
		}
		if !over {
			over = true
			p.End(sandbox.Exit{Code: -1, Signal: int(sig.(syscall.Signal))})
			p.Vanish()
		}
	})
	return p.Child, nil
}

// owned runs f with a process and what its owner has been told.
func owned(t *testing.T, l *starts, o Options, f func(send func(...any), told func(...string))) {
	synctest.Test(t, func(t *testing.T) {
		o.Log, o.Launcher, o.Key = hclog.NewNullLogger(), l, "key"
		system := safeactor.NewSystem(o.Log)
		defer system.Shutdown()
		var heard []string
		var pid *actor.PID
		owner := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *actor.Started:
				pid = ctx.Spawn(Props(o))
			case *Started:
				heard = append(heard, fmt.Sprintf("started, pid %d, %v", m.Child.Pid(), m.Key))
			case *Failed:
				heard = append(heard, fmt.Sprintf("failed: %v, %v", m.Err, m.Key))
			case *Exited:
				heard = append(heard, fmt.Sprintf("exited by %d, %v", m.Exit.Signal, m.Key))
			case *actor.Terminated:
				heard = append(heard, "its actor ended")
			}
		}))
		synctest.Wait()
		f(func(messages ...any) {
			for _, m := range messages {
				if _, stop := m.(*actor.Stop); stop {
					system.Root.Stop(pid)
				}
				safeactor.Tell(system.Root, pid, m)
				synctest.Wait()
			}
		}, func(want ...string) {
			t.Helper()
			if !slices.Equal(heard, want) {
				t.Errorf("the owner was told\n%s\nwant\n%s", strings.Join(heard, "\n"), strings.Join(want, "\n"))
			}
		})
		system.Root.Stop(owner)
		synctest.Wait()
	})
}

// An owner is told of the process first, and then of its end.
func TestOwnerIsToldOfStartAndEnd(t *testing.T) {
	for _, whole := range []bool{false, true} {
		owned(t, &starts{}, Options{Whole: whole}, func(send func(...any), told func(...string)) {
			closed, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			send(&Kill{}, &Signal{Signal: syscall.SIGTERM}, // of what is not there yet
				&Start{Command: &sandbox.Command{Name: "a"}, Close: []*os.File{closed}}, &Signal{Signal: syscall.SIGTERM, Alone: true})
			told("started, pid 1, key", "exited by 15, key")
			if closed.Close() == nil {
				t.Error("the child's ends are still open")
			}
		})
	}
}

func TestOwnerIsToldThatThereIsNoProcess(t *testing.T) {
	owned(t, &starts{refuse: os.ErrPermission}, Options{}, func(send func(...any), told func(...string)) {
		send(&Start{Command: &sandbox.Command{Name: "a"}}, &Signal{Signal: syscall.SIGTERM}, &Kill{})
		told("failed: permission denied, key")
	})
}

// A process that runs ends with its actor. What a process has left behind ends with its
// actor where that is the owner's wish.
func TestTreeEndsWithTheActor(t *testing.T) {
	for _, c := range []struct {
		whole, exits bool
		killed       bool
	}{{false, false, true}, {false, true, false}, {true, false, true}, {true, true, true}} {
		l := &starts{}
		owned(t, l, Options{Whole: c.whole}, func(send func(...any), _ func(...string)) {
			send(&Start{Command: &sandbox.Command{Name: "a"}})
			if c.exits {
				send(&Signal{Signal: syscall.SIGTERM, Alone: true})
			}
			send(&actor.Stop{})
			if l.killed != c.killed {
				t.Errorf("%+v: the tree was killed: %v", c, l.killed)
			}
		})
	}
}
