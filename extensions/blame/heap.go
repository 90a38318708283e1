package blame

import (
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/extensions"
)

// heapNode is a node of V8's sampling heap profile: a frame, and what it allocated.
type heapNode struct {
	CallFrame struct {
		URL string `json:"url"`
	} `json:"callFrame"`
	SelfSize float64    `json:"selfSize"` // bytes
	Children []heapNode `json:"children"`
}

// Allocated parses a sampling heap profile of V8 (JSON) and returns each extension's share of the
// bytes, the largest first, and all bytes. Of the extensions on the stack of an allocation the
// outermost counts, which called the others.
func (x Index) Allocated(data []byte) (shares []Share, bytes int64, err error) {
	var p struct {
		Head *heapNode `json:"head"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, 0, fmt.Errorf("heap profile: %w", err)
	}
	if p.Head == nil {
		return nil, 0, fmt.Errorf("heap profile: no member %q", "head")
	}
	sizes := map[extensions.ID]float64{}
	total := 0.0
	x.allocated(*p.Head, "", func(id extensions.ID, size float64) {
		total += size
		sizes[id] += size
	})
	delete(sizes, "")
	return sortedShares(sizes, total), int64(total), nil
}

// allocated visits a node that outermost has called; "" is no extension.
func (x Index) allocated(n heapNode, outermost extensions.ID, add func(id extensions.ID, size float64)) {
	if outermost == "" {
		outermost, _ = x.File(n.CallFrame.URL)
	}
	add(outermost, max(n.SelfSize, 0))
	for _, child := range n.Children {
		x.allocated(child, outermost, add)
	}
}
