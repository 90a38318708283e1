package msgpackrpc

import (
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// maxAsks is how many requests of the peer may be open at once.
const maxAsks = 4096

// asks are the requests of the peer that are not answered yet: the reader adds
// to them, Append takes them out. The zero value is empty.
type asks struct {
	mu     sync.Mutex
	last   uint32
	theirs map[uint32]uint32   // the peer's id, by ours
	open   map[uint32]struct{} // the peer's ids
}

// add returns our id for a request of the peer.
func (a *asks) add(id uint32) (uint32, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.theirs == nil {
		a.theirs, a.open = make(map[uint32]uint32), make(map[uint32]struct{})
	}
	if len(a.theirs) >= maxAsks {
		return 0, codec.Faultf(codec.ErrElements, -1, nil, "request %d of the peer, %d others are not answered yet", id, maxAsks)
	}
	if _, twice := a.open[id]; twice {
		return 0, codec.Faultf(codec.ErrID, -1, nil, "request %d of the peer, another with this id is not answered yet", id)
	}
	for {
		if a.last++; a.last == 0 {
			continue
		}
		if _, taken := a.theirs[a.last]; !taken {
			break
		}
	}
	a.theirs[a.last] = id
	a.open[id] = struct{}{}
	return a.last, nil
}

// id returns the peer's id of a request that is open.
func (a *asks) id(ours uint32) (uint32, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, open := a.theirs[ours]
	return id, open
}

// answered forgets a request.
func (a *asks) answered(ours uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, a.theirs[ours])
	delete(a.theirs, ours)
}
