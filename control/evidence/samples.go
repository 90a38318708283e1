package evidence

import (
	"time"

	"github.com/hostsup/hostsup/control/samples"
)

// SamplesOf returns [Options].Samples for the figures that a supervisor keeps anyway. They are
// taken every [samples.Interval].
func SamplesOf(store *samples.Store) func(host string, life uint64, since time.Time) []Sample {
	return func(host string, _ uint64, since time.Time) (out []Sample) {
		h, err := store.History(samples.Query{Hosts: []string{host}, N: int(Window/samples.Interval) + 1})
		if err != nil || len(h.Hosts) != 1 {
			return nil
		}
		s := &h.Hosts[0]
		for i := range s.State {
			if at := h.Times[s.Skip+i]; !at.Before(since) {
				out = append(out, Sample{Time: at, Memory: s.Memory[i], CPU: s.CPU[i], Pending: &s.Pending[i]})
			}
		}
		return out
	}
}
