package lifecycle

import (
	"slices"
	"time"
)

// Past is what the machine of a host knows of the lives so far that still counts in a later
// supervisor.
type Past struct {
	Life    uint64      `json:"life"`              // number of the last one
	Crashes []time.Time `json:"crashes,omitempty"` // within the window, oldest first
	Streak  int         `json:"streak,omitempty"`  // ends since the last healthy spell: the back-off

	// Spawned is when the process of the next life was spawned, if that runs already.
	Spawned time.Time `json:"-"`
}

// PastOf returns what is to be known of the lives of a host so far.
func PastOf(h *Host) Past {
	return Past{Life: h.life, Crashes: slices.Clone(h.crashes), Streak: h.streak}
}

// Resume makes a new host go on where another one has ended: with the next life, its
// crash window and its back-off.
func Resume(h *Host, p Past) {
	h.life, h.crashes, h.streak, h.spawnedAt = p.Life, slices.Clone(p.Crashes), p.Streak, p.Spawned
	h.resumes = !p.Spawned.IsZero()
}
