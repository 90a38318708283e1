package replay

import (
	"context"

	"github.com/hostsup/hostsup/control/evidence"
)

// Minimize returns a list of messages with which crashes still returns true, and of which no single
// message can be left out, by delta debugging (Zeller's ddmin). Messages that open a session are
// kept, and so is the answer to a request with its request. crashes is called up to tries times; when
// that or ctx ends the search, whole is false and the list is the smallest so far. An error of
// crashes ends the search too.
func Minimize(ctx context.Context, list []evidence.Moment, tries int, crashes func([]evidence.Moment) (bool, error)) (smallest []evidence.Moment, whole bool, err error) {
	var free []int // indices of messages that may be left out
	for i := range list {
		if list[i].Kind == evidence.KindSent && !opens(&list[i]) {
			free = append(free, i)
		}
	}
	parts := 2
	for len(free) > 0 {
		size := (len(free) + parts - 1) / parts
		reduced := false
		for from := 0; from < len(free); from += size {
			if tries--; tries < 0 || ctx.Err() != nil {
				return pick(list, free), false, ctx.Err()
			}
			rest := append(append([]int{}, free[:from]...), free[min(from+size, len(free)):]...)
			again, err := crashes(pick(list, rest))
			if err != nil {
				return pick(list, free), false, err
			}
			if again {
				free, reduced = rest, true
				break
			}
		}
		switch {
		case reduced:
			parts = max(parts-1, 2)
		case size == 1:
			return pick(list, free), true, nil
		default:
			parts = min(2*parts, len(free))
		}
	}
	return pick(list, free), true, nil
}

// opens reports whether a message belongs to the beginning of a session.
func opens(m *evidence.Moment) bool {
	return m.Method == "initialize" || m.Method == "initialized" || m.Method == "notifications/initialized"
}

// pick returns the messages that are free, those that open a session, and the answers to them.
func pick(list []evidence.Moment, free []int) (out []evidence.Moment) {
	keep, ids := map[int]bool{}, map[uint32]bool{}
	for _, i := range free {
		keep[i] = true
	}
	for i := range list {
		m := &list[i]
		switch {
		case m.Kind == evidence.KindSent && (keep[i] || opens(m)):
			ids[m.ID] = m.ID != 0
			out = append(out, *m)
		case m.Kind != evidence.KindSent && ids[m.ID]:
			out = append(out, *m)
		}
	}
	return out
}
