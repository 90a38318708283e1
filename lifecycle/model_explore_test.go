//go:build !race

package lifecycle

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
)

// check holds a state in which nothing has to come to what is promised.
func (w *world) check() error {
	if w.group.shutdown && !w.rest {
		return fmt.Errorf("the shutdown does not end")
	}
	for i := range w.hosts {
		h, s, m := w.hosts[i], w.sim[i], w.group.members[i]
		fail := func(what string) error {
			return fmt.Errorf("%s %s: %s (%s), by %q", m.Name, what, h.State(), h.Reason(), h.By())
		}
		switch {
		case s.ops != 0:
			return fail("leaves somebody waiting")
		case h.Pending():
			return fail("waits for a start that does not come")
		case m.state != h.State():
			return fail("is not known to its group, which has it as " + string(m.state))
		case s.kept && (h.State() != Stopped || h.By() == ByProgram) && h.Reason() != "is still there":
			return fail("was stopped by a person")
		case w.group.shutdown && !h.State().AtRest():
			return fail("outlives the shutdown")
		case w.group.shutdown:
			continue
		}
		switch h.State() {
		case Running:
		case Unresponsive:
			if h.rules.KillAfter > 0 {
				return fail("is not killed")
			}
		case Stopped:
			name, needs := strings.CutPrefix(strings.TrimSuffix(h.Reason(), ", which is stopped"), "needs ")
			shared, group := strings.CutPrefix(strings.TrimSuffix(h.Reason(), " failed"), "group: ")
			switch {
			case (h.By() == ByProgram || h.By() == ByGroup) && h.Reason() == idle:
			case h.By() == ByPerson, h.By() == BySelf && h.Reason() != "", h.Done() && m.done:
			case h.By() == "" && h.life == 0 && m.Lazy:
			case needs && h.By() == ByGroup && slices.Contains(m.DependsOn, name) && w.hosts[w.group.index[name]].State() == Stopped:
			case group && h.By() == ByGroup && w.group.index[shared] != i:
			default:
				return fail("does not say why it is down")
			}
		case Failed:
			name, dependency := strings.CutPrefix(strings.TrimSuffix(h.Reason(), " failed"), "dependency ")
			switch {
			case dependency && w.hosts[w.group.index[name]].State() == Failed:
			case strings.HasSuffix(h.Reason(), "given up"), strings.HasSuffix(h.Reason(), "not tried again"), h.Reason() == "is still there":
			default:
				return fail("does not say why it has failed")
			}
		default:
			return fail("stays as it is")
		}
	}
	return nil
}

// explore visits every state of a group, checks those in which nothing has to
// come, and proves that each other one leads to such a state, however its steps
// are ordered: steps never lead in a circle.
func explore(t *testing.T, c modelCase) (states, quiet int) {
	t.Helper()
	type node struct {
		from int32
		how  string
	}
	var nodes []node
	var next [][]int32 // by steps alone
	seen := make(map[[16]byte]int32)
	var open []*world
	enter := func(w *world, from int32, how string) int32 {
		w.normalize()
		k := w.key()
		if i, ok := seen[k]; ok {
			return i
		}
		i := int32(len(nodes))
		seen[k] = i
		nodes = append(nodes, node{from, how})
		next = append(next, nil)
		open = append(open, w)
		return i
	}
	trace := func(i int32) string {
		var out []string
		for ; i >= 0; i = nodes[i].from {
			out = append(out, nodes[i].how)
		}
		slices.Reverse(out)
		return "\n\t" + strings.Join(out, "\n\t")
	}
	left := c.overlap
	w, err := newWorld(c)
	if err != nil {
		t.Fatal(err)
	}
	enter(w, -1, "boot")
	for at := int32(0); int(at) < len(nodes); at++ {
		w := open[at]
		open[at] = nil
		steps := w.steps()
		if len(steps) == 0 {
			quiet++
			if err := w.check(); err != nil {
				t.Fatalf("%v%s", err, trace(at))
			}
			if w.left < left || !w.alone {
				// As many disturbances may come again.
				n := w.clone()
				n.left, n.alone = left, true
				if left > 1 || len(n.hosts) > 2 {
					n.forget()
				}
				next[at] = append(next[at], enter(n, at, "(quiet)"))
			}
		}
		take := func(m move) int32 {
			n := w.clone()
			if err := m.do(n); err != nil {
				t.Fatalf("%v%s\n\t%s", err, trace(at), m.name)
			}
			return enter(n, at, m.name)
		}
		moves := w.independent(append(steps, w.disturb()...))
		for _, m := range moves {
			if to := take(m); !m.disturbs {
				next[at] = append(next[at], to)
			}
		}
	}
	if i := circle(next); i >= 0 {
		t.Fatalf("steps lead in a circle:%s", trace(i))
	}
	return len(nodes), quiet
}

// circle returns a node from which steps lead back to it, -1 if there is none.
func circle(next [][]int32) int32 {
	into := make([]int32, len(next))
	for _, to := range next {
		for _, j := range to {
			into[j]++
		}
	}
	var free []int32
	for i, n := range into {
		if n == 0 {
			free = append(free, int32(i))
		}
	}
	done := 0
	for ; len(free) > 0; done++ {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, j := range next[i] {
			if into[j]--; into[j] == 0 {
				free = append(free, j)
			}
		}
	}
	if done == len(next) {
		return -1
	}
	return int32(slices.IndexFunc(into, func(n int32) bool { return n > 0 }))
}

// normalize forgets what makes no difference to what may follow.
func (w *world) normalize() {
	for i := range w.hosts {
		h := &w.hosts[i]
		h.rng, h.restarts, h.streak, h.life = 0, 0, min(h.streak, 1), min(h.life, 1)
		h.shortFor = min(h.shortFor, 1)
		for j := range h.ops {
			if j == 0 {
				h.ops = slices.Clone(h.ops)
			}
			h.ops[j].id = 0
		}
		w.renumber(i)
		if h.rules.Restart.Policy == Never {
			h.crashes = nil // they count for nothing
		}
		if !w.ends {
			w.group.members[i].inFlight = 0
		}
	}
}

// renumber gives the requests of a host the least numbers that leave them in the
// order in which they are.
func (w *world) renumber(i int) {
	h, s, m := &w.hosts[i], &w.sim[i], &w.group.members[i]
	if h.requested == 0 {
		return
	}
	var all []int
	each := func(change func(int) int) {
		h.requested, m.acked = change(h.requested), change(m.acked)
		for j := range h.ops {
			h.ops[j].request = change(h.ops[j].request)
		}
		for j, e := range s.toHost {
			switch e := e.(type) {
			case Start:
				e.Ack = change(e.Ack)
				s.toHost[j] = e
			case Stop:
				e.Ack = change(e.Ack)
				s.toHost[j] = e
			case DependencyFailed:
				e.Ack = change(e.Ack)
				s.toHost[j] = e
			case StopRefused:
				e.Ack = change(e.Ack)
				s.toHost[j] = e
			case Waits:
				e.Ack = change(e.Ack)
				s.toHost[j] = e
			}
		}
		for j, e := range s.toGroup {
			switch e := e.(type) {
			case Want:
				e.Number = change(e.Number)
				s.toGroup[j] = e
			case Unwant:
				e.Number = change(e.Number)
				s.toGroup[j] = e
			case Release:
				e.Number = change(e.Number)
				s.toGroup[j] = e
			}
		}
	}
	s.toHost, s.toGroup = slices.Clone(s.toHost), slices.Clone(s.toGroup)
	each(func(n int) int {
		all = append(all, n)
		return n
	})
	slices.Sort(all)
	all = slices.Compact(all)
	if all[len(all)-1] == len(all)-1 {
		return
	}
	each(func(n int) int { return slices.Index(all, n) })
}

// forget lets so much time pass that nobody remembers a crash.
func (w *world) forget() {
	for i := range w.hosts {
		w.hosts[i].crashes, w.hosts[i].streak = nil, 0
	}
}

// key tells states apart.
func (w *world) key() [16]byte {
	var k keyer
	k.add(w.left, w.rest, w.alone, w.group.draining, w.group.shutdown)
	for i := range w.hosts {
		m, h, s := &w.group.members[i], &w.hosts[i], &w.sim[i]
		k.add(m.state, m.wanted, m.kept, m.asks, m.granted, m.inFlight, m.drains, m.done, m.notice, m.refused,
			h.state, int(h.life), int(h.presence), h.again, h.promised, h.waits != "", h.requested, m.acked, h.short,
			len(h.crashes), h.streak, int(s.proc), s.cause, s.timers[backoff], s.timers[retry], s.timers[short], s.ops, s.kept, len(h.ops))
		// What else there is makes a difference in some states alone; who asked for
		// a start makes none but to people.
		if h.again {
			k.add(h.againBy == ByPerson, h.againBy == ByRule)
		}
		switch h.state {
		case Restarting:
			k.add(h.backedOff, h.asks)
		case Stopped, Stopping, Failed:
			k.add(h.by, h.reason)
		}
		for _, o := range h.ops {
			k.add(o.op, o.request, o.asks)
		}
		for _, e := range s.toHost {
			switch e := e.(type) {
			case Start:
				k.add(1, e.Ack)
			case Stop:
				k.add(2, e.By, e.Reason, e.Back, e.Ack)
			case DependencyFailed:
				k.add(3, e.Name, e.Ack)
			case Waits:
				k.add(4, e.For, e.Ack)
			case StopRefused:
				k.add(5, e.Ack)
			}
		}
		k.add(0)
		for _, e := range s.toGroup {
			switch e := e.(type) {
			case Want:
				k.add(1, e.By == ByPerson, e.By == ByRule)
			case Unwant:
				k.add(2)
			case Release:
				k.add(4)
			case Changed:
				k.add(3, e.To, e.By == BySelf, e.By == ByDone, e.By == ByDependency, e.Answer)
			}
		}
		k.add(0)
	}
	sum := fnv.New128a()
	sum.Write(k)
	return [16]byte(sum.Sum(nil))
}

// keyer spells values as bytes.
type keyer []byte

func (k *keyer) add(values ...any) {
	text := func(s string) { *k = append(append(*k, byte(len(s))), s...) }
	for _, v := range values {
		switch v := v.(type) {
		case int:
			*k = append(*k, byte(v))
		case bool:
			if v {
				*k = append(*k, 1)
			} else {
				*k = append(*k, 0)
			}
		case string:
			text(v)
		case State:
			text(string(v))
		case By:
			text(string(v))
		case Cause:
			text(string(v))
		case Operation:
			text(string(v))
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
}
