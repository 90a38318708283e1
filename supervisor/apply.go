package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Apply makes a tree what next says, as far as that can be done while it runs, and
// returns what it did: see [Plan]. Hosts that are equal are not touched. Hosts that go are
// stopped, dependents first; the others are replaced and added, dependencies first. Apply
// returns when each configuration is in force, without waiting for hosts to run.
//
// The plan is made from what the tree is, so that Apply also repairs a tree that an earlier
// one has left half-way. Instances of the same host ([HostSpec].InstanceOf) that run and
// have to be restarted are replaced one after the other, each when the one before it runs.
// If they speak a protocol by which their callers can go to either, a spare (NAME~next) is
// started first, and callers of [Supervisor.Instance] go there meanwhile. When the spare or
// an instance does not come up, that instance gets its old configuration again, and those
// after it keep theirs. An error for one host does not keep the others from being
// applied. Calls of Apply are carried out one after the other. When ctx ends, what is
// under way goes on, and nothing else is begun.
//
// Errors: those of next, before anything is touched; ErrClosed; ctx's; and joined, those
// of hosts as of Add, Remove and Replace.
//
// Apply is no method of Supervisor, so that programs that do not use it do not link it.
func Apply(ctx context.Context, s *Supervisor, next Spec) (Plan, error) {
	next = next.shared()
	if err := next.Validate(); err != nil {
		return Plan{}, err
	}
	select {
	case s.applying <- struct{}{}:
	case <-ctx.Done():
		return Plan{}, ctx.Err()
	case <-s.done:
		return Plan{}, ErrClosed
	}
	result := make(chan Plan, 1)
	err := s.persist(ctx, func(whole context.Context) error {
		defer func() { <-s.applying }() // the next plan is made when what is under way has ended
		now, err := Present(whole, s)
		if err != nil {
			return err
		}
		a := &application{Supervisor: s, now: now, next: next, plan: compare(s, now, next), old: map[string]*HostSpec{}, action: map[string]Action{}, families: map[string]*family{}}
		err = a.carryOut(ctx, whole)
		if a.plan.Changes() {
			s.world.Journal.Write(Event{Kind: record.KindReloaded, Reason: a.plan.summary(err)})
		}
		result <- a.plan
		return err
	})
	select {
	case plan := <-result:
		return plan, err
	default:
		return Plan{}, err
	}
}

// summary returns what was done, for the history.
func (p Plan) summary(err error) string {
	var parts []string
	for _, x := range []struct {
		did string
		n   int
	}{
		{"added", p.Count(ActionAdd)}, {"removed", p.Count(ActionRemove)}, {"moved", p.Count(ActionMove)},
		{"restarted", p.Count(ActionRestart)}, {"updated", p.Count(ActionUpdate)}, {"unchanged", p.Count(ActionNone)},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.did))
		}
	}
	text := strings.Join(parts, ", ")
	if err != nil {
		text += ", with errors: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

// application is one Apply.
type application struct {
	*Supervisor
	now, next Spec
	plan      Plan
	old       map[string]*HostSpec
	action    map[string]Action  // of hosts
	families  map[string]*family // of instances, by what they are instances of

	mu   sync.Mutex
	errs []error
}

// did records the outcome of a step.
func (a *application) did(what, host string, err error) {
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs = append(a.errs, fmt.Errorf("%s host %q: %w", what, host, err))
}

// carryOut begins nothing once ctx has ended; what it has begun goes on in whole.
func (a *application) carryOut(ctx, whole context.Context) error {
	for i, g := range a.now.Groups {
		for j, h := range g.Hosts {
			a.old[h.Name] = &a.now.Groups[i].Hosts[j]
		}
	}
	for _, c := range a.plan.Hosts {
		a.action[c.Host] = c.Action
	}
	if a.plan.Changes() {
		a.Supervisor.mu.Lock()
		a.spec.OnFailed = a.next.OnFailed
		a.Supervisor.mu.Unlock()
		a.detach(ctx, whole)
		a.remove(ctx, whole)
		if err := a.arrange(whole); err != nil { // groups that are to come, before their hosts
			return errors.Join(append(a.errs, err)...)
		}
		a.regate(ctx, whole)
		a.bring(ctx, whole)
	}
	return errors.Join(append(a.errs, ctx.Err(), a.arrange(whole))...)
}

// arrange gives groups and hosts the order of the Spec, and groups their strategies.
func (a *application) arrange(ctx context.Context) error {
	m := &actors.Arrange{}
	for _, g := range a.next.Groups {
		names := make([]string, len(g.Hosts))
		for i, h := range g.Hosts {
			names[i] = h.Name
		}
		m.Groups = append(m.Groups, actors.Arrangement{Name: g.Name, Strategy: g.Strategy, Hosts: names})
	}
	return a.order(ctx, m)
}

// leaves reports whether a host goes out of its group.
func (a *application) leaves(host string) bool {
	return a.action[host] == ActionRemove || a.action[host] == ActionMove
}

// detach ends dependencies of hosts that stay on hosts that go, which could not be removed
// otherwise. That restarts nothing.
func (a *application) detach(ctx, whole context.Context) {
	for name, h := range a.old {
		if a.leaves(name) || ctx.Err() != nil || !slices.ContainsFunc(h.Start.DependsOn, a.leaves) {
			continue
		}
		alone := *h
		alone.Start.DependsOn = slices.DeleteFunc(slices.Clone(h.Start.DependsOn), a.leaves)
		a.did("replace", name, a.Replace(whole, alone))
	}
}

// remove takes out the hosts that go, all at once but for dependents, which go before what
// they depend on.
func (a *application) remove(ctx, whole context.Context) {
	gone := map[string]chan struct{}{}
	dependents := map[string][]string{}
	for name, h := range a.old {
		if a.leaves(name) {
			gone[name] = make(chan struct{})
			for _, d := range h.Start.DependsOn {
				dependents[d] = append(dependents[d], name)
			}
		}
	}
	var all sync.WaitGroup
	for name, done := range gone {
		all.Go(func() {
			defer close(done)
			for _, d := range dependents[name] {
				<-gone[d]
			}
			if ctx.Err() == nil {
				a.did("remove", name, a.Remove(whole, name))
			}
		})
	}
	all.Wait()
}

// regate has hosts that stay in a group whose strategy changes know whether their restarts
// ask the group. That restarts nothing.
func (a *application) regate(ctx, whole context.Context) {
	changed := map[string]bool{}
	for _, g := range a.plan.Groups {
		changed[g.Group] = true
	}
	for _, c := range a.plan.Hosts {
		if !changed[c.Group] || a.action[c.Host] == ActionAdd || a.leaves(c.Host) || ctx.Err() != nil {
			continue
		}
		a.did("replace", c.Host, a.renew(whole, c.Host))
	}
}

// renew gives a host its present configuration once more.
func (s *Supervisor) renew(ctx context.Context, name string) error {
	host, err := s.Host(name)
	if err != nil {
		return err
	}
	return s.persist(ctx, func(whole context.Context) error {
		host.replacing.Lock()
		defer host.replacing.Unlock()
		core := s.core(host.Spec())
		core.Interceptors = nil // it keeps them
		return s.order(whole, &actors.ReplaceHost{Host: core})
	})
}

// bring adds and replaces hosts. Within a group a host comes after those that it depends
// on, so that dependencies never form a circle on the way; hosts that have nothing to do
// with each other are replaced at the same time, as each may have to stop first. Instances
// of the same host are replaced one after the other; see [application.roll].
func (a *application) bring(ctx, whole context.Context) {
	var all sync.WaitGroup
	counted := make(chan struct{}) // closed when it is known which instances are to be replaced
	for _, g := range a.next.Groups {
		specs := make(map[string]HostSpec, len(g.Hosts))
		members := make([]lifecycle.Member, len(g.Hosts))
		for i, h := range g.Hosts {
			specs[h.Name] = h
			members[i] = lifecycle.Member{Name: h.Name, DependsOn: h.Start.DependsOn}
		}
		members, err := lifecycle.Order(members)
		if err != nil {
			a.did("order", g.Name, err) // impossible: the Spec is valid
			continue
		}
		after := map[string][]chan struct{}{} // what a host that depends on this one has to wait for
		for _, m := range members {
			var wait []chan struct{}
			for _, d := range m.DependsOn {
				wait = append(wait, after[d]...)
			}
			switch a.action[m.Name] {
			case ActionAdd, ActionMove:
				if ctx.Err() == nil {
					a.did("add", m.Name, a.add(whole, g, specs[m.Name]))
				}
			case ActionRestart, ActionUpdate:
				done := make(chan struct{})
				after[m.Name] = []chan struct{}{done}
				f := a.familyOf(m.Name, specs[m.Name].InstanceOf)
				if f != nil {
					if f.left++; f.turn != nil {
						wait = append(wait, f.turn)
					}
					f.turn = done
				}
				all.Go(func() {
					defer close(done)
					for _, w := range wait {
						<-w
					}
					switch {
					case f != nil:
						<-counted
						a.roll(ctx, whole, f, specs[m.Name])
					case ctx.Err() == nil:
						a.did("replace", m.Name, a.Replace(whole, specs[m.Name]))
					}
				})
			default:
				after[m.Name] = wait
			}
		}
	}
	close(counted)
	all.Wait()
}

// familyOf returns the family of a host that is restarted as an instance of another; nil for others.
func (a *application) familyOf(host, of string) *family {
	if of == "" || a.action[host] != ActionRestart {
		return nil
	}
	if a.families[of] == nil {
		a.families[of] = &family{}
	}
	return a.families[of]
}

// add adds a host to its group, or makes one of its own for it.
func (a *application) add(ctx context.Context, g GroupSpec, h HostSpec) error {
	for _, p := range a.parts {
		if p.name == h.Name || p.name == g.Name {
			return fmt.Errorf("%w: %q is that of a part, which ends with the supervisor", ErrNameTaken, p.name)
		}
	}
	group := g.Name
	if group == h.Name {
		group = "" // a group of its own
	}
	_, err := a.Add(ctx, group, h)
	return err
}
