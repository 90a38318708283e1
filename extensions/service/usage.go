package service

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/location"
)

// uses counts the calls of commands over all hosts and lives.
type uses struct {
	all   sync.Map // command → *use
	known atomic.Int32
	rest  use // of commands beyond maxCommands, for no extension
}

// use counts the calls of one command.
type use struct {
	calls    atomic.Uint64
	answered atomic.Uint64
	took     atomic.Int64 // total ns until the answers
}

// started is the reference time of clock readings.
var started = time.Now()

func (u *uses) of(command string) *use {
	if one, ok := u.all.Load(command); ok {
		return one.(*use)
	}
	if u.known.Load() >= maxCommands {
		return &u.rest
	}
	one, loaded := u.all.LoadOrStore(command, new(use))
	if !loaded {
		u.known.Add(1)
	}
	return one.(*use)
}

// sinceStart is the clock of the calls.
func sinceStart() time.Duration { return time.Since(started) }

func (u *use) begin() (now int64) {
	u.calls.Add(1)
	return int64(sinceStart())
}

func (u *use) end(began int64) {
	u.answered.Add(1)
	u.took.Add(int64(sinceStart()) - began)
}

// figures has the totals of one extension.
type figures struct {
	calls, answered uint64
	took            int64
}

// figures sums the calls by extension.
func (s *Service) figures() map[extensions.ID]figures {
	out := map[extensions.ID]figures{}
	s.uses.all.Range(func(command, one any) bool {
		text, _ := command.(string)
		u, _ := one.(*use)
		if id, ok := s.ownerOf(text); ok {
			f := out[id]
			n := u.answered.Load() // in the order in which end adds
			f.calls, f.answered, f.took = f.calls+u.calls.Load(), f.answered+n, f.took+u.took.Load()
			out[id] = f
		}
		return true
	})
	return out
}

// measure adds the figures of an extension to a status.
func (s *Service) measure(st *extensions.Status, id extensions.ID, f figures, alone map[location.Place]int) {
	st.Calls = f.calls
	if f.answered > 0 {
		v := time.Duration(f.took / int64(f.answered)).Seconds()
		st.AverageResponseSeconds = &v
	}
	if now, ok := s.active.Get(id); ok && st.Activation != nil {
		v := total(now.Times).Seconds()
		st.ActivationSeconds = &v
	}
	at := s.placed.Places[id]
	if p := s.hosts[st.Place]; p != nil && p.ref != nil && p.life != 0 && alone[at] == 1 {
		st.RSSBytes = p.ref.Status().RSSBytes
	}
}

func total(t activation.Times) time.Duration {
	return t.CodeLoading + t.ActivateCall + t.ActivateResolved
}

// countPerHost returns the number of extensions by location.
func (s *Service) countPerHost() map[location.Place]int {
	out := map[location.Place]int{}
	for _, at := range s.placed.Places {
		out[at]++
	}
	return out
}
