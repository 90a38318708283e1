package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Update is a progress that began, has changed or has ended, for [Service.Follow].
type Update struct {
	Progress
	Ended bool
}

// SetStarting notes whether a host is starting. To those who follow progress that is a progress without an
// extension; [Service.State] does not have it, because the state of the host tells it.
func (s *Service) SetStarting(host string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.starting[host]; was == is {
		return
	}
	if !is {
		delete(s.starting, host)
	} else {
		s.lastStart++
		s.starting[host] = Progress{
			ID: fmt.Sprintf("start-%d", s.lastStart), Host: host, Title: fmt.Sprintf("Starting the extension host %s", host),
			Location: "window", Started: time.Now(),
		}
	}
	s.tell()
}

// Follow calls told with each progress: those that run, those that begin, and their changes and ends, until
// ctx is done. told is called by the goroutine of Follow, and may block. A progress that ends before it has
// run for so long as after is left out, and of changes while told blocks the last one counts.
func (s *Service) Follow(ctx context.Context, after time.Duration, told func(Update)) {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	defer s.Subscribe(wake)()
	wake()
	ripe := time.NewTimer(0)
	defer ripe.Stop()
	known := map[string]Progress{}
	for {
		select {
		case <-changed:
		case <-ripe.C:
		case <-ctx.Done():
			return
		}
		var next time.Duration
		running := map[string]bool{}
		for _, p := range s.followed() {
			was, isKnown := known[p.ID]
			if left := after - time.Since(p.Started); !isKnown && left > 0 {
				if next == 0 || left < next {
					next = left
				}
				continue
			}
			running[p.ID] = true
			if isKnown && was.looks(p) {
				continue
			}
			known[p.ID] = p
			told(Update{p, false})
		}
		for _, id := range slices.Sorted(maps.Keys(known)) {
			if !running[id] {
				p := known[id]
				delete(known, id)
				told(Update{p, true})
			}
		}
		if next > 0 {
			ripe.Reset(next)
		}
	}
}

// looks reports whether two states of a progress look the same.
func (p Progress) looks(other Progress) bool {
	if (p.Percent == nil) != (other.Percent == nil) || p.Percent != nil && *p.Percent != *other.Percent {
		return false
	}
	return p.Title == other.Title && p.Message == other.Message && p.Canceled == other.Canceled
}

// followed returns what runs and what starts, oldest first.
func (s *Service) followed() []Progress {
	s.mu.Lock()
	out := slices.Collect(maps.Values(s.starting))
	s.mu.Unlock()
	return inOrder(append(out, s.Running("")...))
}
