package attach

import (
	"cmp"
	"slices"
	"time"
)

// pool says which instances of a host there are, and which of them a program gets. It
// decides only: its owner adds and removes hosts as it says.
type pool struct {
	members []instance // by number
}

// instance is one host of a pool.
type instance struct {
	number  int       // from 1
	key     string    // what its clients have in common; "": it has one client, and gets no other
	clients int       // that are attached
	since   time.Time // when the last client has left
	gone    bool      // its host was removed, and its number is free when its clients have left
}

// choice is which instance a program gets.
type choice struct {
	number int  // 0: there are as many as there may be, and all have clients
	made   bool // it is to be added
	evict  int  // the instance that is to be removed before, or 0
}

// join chooses an instance for a program: the one of its key, or a new one. Where there are
// limit of them already, the one goes whose last client left first. The key "" has a new
// one in any case.
func (p *pool) join(key string, limit int) (c choice) {
	for i := range p.members {
		if m := &p.members[i]; key != "" && m.key == key && !m.gone {
			m.clients++
			return choice{number: m.number}
		}
	}
	if len(p.numbers()) >= limit {
		idle := slices.DeleteFunc(slices.Clone(p.members), func(m instance) bool { return m.clients > 0 })
		if len(idle) == 0 {
			return choice{}
		}
		c.evict = slices.MinFunc(idle, func(a, b instance) int { return a.since.Compare(b.since) }).number
		p.forget(c.evict)
	}
	c.number, c.made = 1, true
	at := 0
	for ; at < len(p.members) && p.members[at].number == c.number; at++ {
		c.number++
	}
	p.members = slices.Insert(p.members, at, instance{number: c.number, key: key, clients: 1})
	return c
}

// enter adds a program to the instance of a number. It returns false if that is not there,
// or is one for other programs.
func (p *pool) enter(number int, key string) bool {
	i := p.find(number)
	if i < 0 || p.members[i].key != key || key == "" || p.members[i].gone {
		return false
	}
	p.members[i].clients++
	return true
}

// leave takes a program out of an instance.
func (p *pool) leave(number int, now time.Time) {
	if i := p.find(number); i >= 0 {
		m := &p.members[i]
		m.clients--
		if m.since = now; m.gone {
			p.forget(number)
		}
	}
}

// forget takes out an instance whose host is removed. Programs that are still attached to it
// are counted until they have left.
func (p *pool) forget(number int) {
	i := p.find(number)
	switch {
	case i < 0:
	case p.members[i].clients > 0:
		p.members[i].gone = true
	default:
		p.members = slices.Delete(p.members, i, i+1)
	}
}

// has reports whether there is an instance of a key, which is not "".
func (p *pool) has(key string) bool {
	return slices.ContainsFunc(p.members, func(m instance) bool { return m.key == key && !m.gone })
}

// retire lets no further program have an instance, whose time is over when its programs have
// left.
func (p *pool) retire(number int) {
	if i := p.find(number); i >= 0 {
		p.members[i].key = ""
	}
}

// numbers returns those of the instances whose hosts are there.
func (p *pool) numbers() (all []int) {
	for _, m := range p.members {
		if !m.gone {
			all = append(all, m.number)
		}
	}
	return all
}

// expire takes out the instances without clients whose time is over, and returns their
// numbers. One that is busy gets as much time again.
func (p *pool) expire(now time.Time, after time.Duration, busy func(number int) bool) (gone []int) {
	p.members = slices.DeleteFunc(p.members, func(m instance) bool {
		if !p.over(m, now, after) || busy(m.number) {
			return false
		}
		gone = append(gone, m.number)
		return true
	})
	for i := range p.members {
		if m := &p.members[i]; p.over(*m, now, after) {
			if m.since = now; m.key == "" {
				m.since = now.Add(time.Second)
			}
		}
	}
	return gone
}

// over reports whether an instance has been without clients for too long.
func (p *pool) over(m instance, now time.Time, after time.Duration) bool {
	end := m.end(after)
	return !end.IsZero() && !now.Before(end)
}

// end returns when the time of an instance without clients is over; the zero time if it has
// clients, or may stay. One that gets no other client has no time.
func (m instance) end(after time.Duration) time.Time {
	switch {
	case m.clients > 0 || m.key != "" && after == 0:
		return time.Time{}
	case m.key == "":
		return m.since
	}
	return m.since.Add(after)
}

// next returns when the time of an instance is over next; the zero time if all may stay.
func (p *pool) next(after time.Duration) (next time.Time) {
	for _, m := range p.members {
		if end := m.end(after); !end.IsZero() && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}

func (p *pool) find(number int) int {
	i, found := slices.BinarySearchFunc(p.members, number, func(m instance, n int) int { return cmp.Compare(m.number, n) })
	if !found {
		return -1
	}
	return i
}
