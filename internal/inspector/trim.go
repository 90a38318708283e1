package inspector

import (
	"encoding/json"
	"fmt"
)

// cpuProfile is a profile as V8 writes it; times are in µs.
type cpuProfile struct {
	Nodes      []cpuNode `json:"nodes"`
	StartTime  int64     `json:"startTime"`
	EndTime    int64     `json:"endTime"`
	Samples    []int     `json:"samples"`
	TimeDeltas []int64   `json:"timeDeltas"`
}

type cpuNode struct {
	ID        int             `json:"id"`
	CallFrame json.RawMessage `json:"callFrame"`
	HitCount  int             `json:"hitCount"`
	Children  []int           `json:"children,omitempty"`
	Ticks     json.RawMessage `json:"positionTicks,omitempty"`
	Deopt     json.RawMessage `json:"deoptReason,omitempty"`
}

// since removes from a profile what was before a time in µs. It leaves a profile
// unchanged that has nothing else.
func since(data json.RawMessage, from int64) (json.RawMessage, error) {
	var p cpuProfile
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%w: the profile: %w", ErrProtocol, err)
	}
	if len(p.TimeDeltas) != len(p.Samples) {
		return data, nil
	}
	first, at := 0, p.StartTime
	for first < len(p.Samples) && at+p.TimeDeltas[first] < from {
		at += p.TimeDeltas[first]
		first++
	}
	if first == 0 || first == len(p.Samples) {
		return data, nil
	}
	p.Samples, p.TimeDeltas = p.Samples[first:], p.TimeDeltas[first:]
	p.TimeDeltas[0] -= max(0, from-at) // the part before from
	p.StartTime = from
	hits := make(map[int]int, len(p.Nodes))
	for _, id := range p.Samples {
		hits[id]++
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		n.HitCount, n.Ticks = hits[n.ID], nil // they do not record their times
	}
	return json.Marshal(p)
}
