package actors

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// The root answers everything that it was sent, also behind its end.
func TestRootAnswers(t *testing.T) {
	simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a"}}), func(s *simulation) {
		add := func(name string) func() string {
			return s.ask(func(done func(error)) any {
				return &Ask{&AddHost{Host: simSpec(HostSpec{Spec: hostspec.Spec{Name: name}})}, done}
			})
		}
		remove := func(name string) func() string {
			return s.ask(func(done func(error)) any { return &Ask{&RemoveHost{Host: name}, done} })
		}
		ready := s.ask(func(done func(error)) any { return &Ask{&Ready{}, done} })
		got := []string{ready(), add("b")(), add("b")(), remove("b")(), remove("b")(), add("b")()}
		s.set(func() { s.running["a"].deaf = true })
		stop := s.shutdown()
		got = append(got, stop(), add("c")(), remove("a")())
		s.passes(5 * time.Second)
		got = append(got, stop(), s.shutdown()())
		want := []string{
			"done", "done", `name is taken: "b"`, "done", `no such host: "b"`, "done",
			"open", "supervisor is stopped", "open",
			"done", "open", // a dead letter
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → stopping (supervisor stops), pid 1
			5s a: stopping → stopped (supervisor stops)
			5s a: removed:
			0s b: added:
			0s b: - → starting (configured)
			0s b: starting → running (ready), pid 1
			0s b: running → stopping (removed), pid 1
			0s b: stopping → stopped (removed)
			0s b: removed:
			0s b: added:
			0s b: - → starting (configured)
			0s b: starting → running (ready), pid 2
			0s b: running → stopping (supervisor stops), pid 2
			0s b: stopping → stopped (supervisor stops)
			0s supervisor: ready
			0s supervisor: stopping
			5s supervisor: stopped
		`)
	})
}

// A part of the tree ends as soon as the tree begins to stop, and the tree with it;
// one that ends before leaves the hosts alone.
func TestPartsStandBesideTheGroups(t *testing.T) {
	for _, early := range []bool{false, true} {
		var seen []string
		note := func(what string) { seen = append(seen, what) }
		props := actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *actor.Started:
				note("started")
			case *actor.Stopped:
				note("stopped")
			case string:
				note(m)
				ctx.Stop(ctx.Self())
			}
		})
		simulate(t, nil, alone(HostSpec{Spec: hostspec.Spec{Name: "a"}}), func(s *simulation) {
			part := actor.NewPID(s.root.Address, s.root.Id+"/part:p")
			if early {
				safeactor.Tell(s.world.System.Root, part, "ends")
				synctest.Wait()
			}
			s.set(func() { s.running["a"].deaf = true })
			down := s.shutdown()
			note("shutdown is " + down())
			s.passes(5 * time.Second)
			note(down())
		}, PartSpec{"p", props})
		want := "started stopped shutdown is open done"
		if early {
			want = "started ends stopped shutdown is open done"
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
