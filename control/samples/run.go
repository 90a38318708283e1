package samples

import (
	"context"
	"time"

	"github.com/hostsup/hostsup/supervisor"
)

// Run adds a sample of each host of sup to the store, at once and then every [Interval],
// until ctx or the tree ends. It may be called once for a store.
func (s *Store) Run(ctx context.Context, sup *supervisor.Supervisor) {
	var buf []Reading
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		buf = Read(sup, buf[:0])
		s.Add(time.Now(), buf)
		select {
		case <-tick.C:
		case <-sup.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// Read appends a reading of each host of sup to buf, in the order of the tree.
func Read(sup *supervisor.Supervisor, buf []Reading) []Reading {
	for _, h := range sup.Hosts() {
		st := h.Status()
		r := Reading{
			Host: st.Name, State: st.State, Life: st.Life, Restarts: st.Restarts,
			Calls: st.Calls, Responses: h.Responses(), Pending: st.Pending, Memory: -1, CPU: -1,
		}
		if st.RSSBytes != nil {
			r.Memory = *st.RSSBytes
		}
		if st.CPUSeconds != nil {
			r.CPU = time.Duration(*st.CPUSeconds * float64(time.Second))
		}
		buf = append(buf, r)
	}
	return buf
}
