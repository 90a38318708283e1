package jsonrpc

import (
	"fmt"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// MaxOpen is how many requests of a peer's may be unanswered at once.
const MaxOpen = 4096

// detail words what ids.give returns.
var detail = map[error]string{
	codec.ErrElements: fmt.Sprintf("%d others of the host's are not answered", MaxOpen),
	codec.ErrID:       "an earlier one of this id is not answered",
}

// ids maps the ids of a peer's open requests, as they are written, to numbers
// from 1. The reader gives, Append takes.
type ids struct {
	mu   sync.Mutex
	next uint32
	open map[uint32]question
	back map[string]uint32
}

// question is an open request of a peer's.
type question struct {
	id   string
	life bool // whether this side lives, which anybody can answer
}

// give returns the number for a new request: codec.ErrID when its id is that
// of an open one, codec.ErrElements when too many are open.
func (t *ids) give(id string, life bool) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back[id] != 0 {
		return 0, codec.ErrID
	}
	if len(t.open) >= MaxOpen {
		return 0, codec.ErrElements
	}
	if t.open == nil {
		t.open, t.back = make(map[uint32]question), make(map[string]uint32)
	}
	for {
		if t.next++; t.next != 0 && t.open[t.next].id == "" {
			break
		}
	}
	t.open[t.next], t.back[id] = question{id, life}, t.next
	return t.next, nil
}

// given is the number of an open request, 0 when no open request has that id.
func (t *ids) given(id []byte) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.back[string(id)]
}

// original is open request n, the zero value when there is none.
func (t *ids) original(n uint32) question {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[n]
}

// forget ends request n.
func (t *ids) forget(n uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.back, t.open[n].id)
	delete(t.open, n)
}

// tokens are the requests of this side's that were sent with their own number
// as progress token. Append adds, the reader asks and forgets.
type tokens struct {
	mu   sync.Mutex
	open map[uint32]struct{}
}

// maxTokens bounds those whose answers never come.
const maxTokens = 64 << 10

func (t *tokens) add(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil || len(t.open) >= maxTokens {
		t.open = make(map[uint32]struct{})
	}
	t.open[id] = struct{}{}
}

func (t *tokens) forget(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

// of is the request that a notification tells progress of, 0 when it is none
// of this side's.
func (t *tokens) of(a app, method string, params []byte) uint32 {
	if !a.progresses(method) {
		return 0
	}
	var token []byte
	fields(params, func(key string, v span) {
		if key == a.token() {
			token = v.in(params)
		}
	})
	id := ownID(token)
	if id == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, open := t.open[id]; !open {
		return 0
	}
	return id
}
