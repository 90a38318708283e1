//go:build linux

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// message is one that a server has sent.
type message struct {
	ID     *json.RawMessage `json:"id"`
	Method string           `json:"method"`
	Params json.RawMessage  `json:"params"`
	text   []byte
	taken  bool // some step has been about it
}

func (m *message) id() string {
	if m.ID == nil {
		return ""
	}
	return string(*m.ID)
}

// errOver is the end of a wait for something that cannot come any more.
var errOver = errors.New("the connection is over")

// inbox holds what has come over a connection.
type inbox struct {
	mu    sync.Mutex
	all   []*message
	procs map[string][]*event // notifications about processes, in the order of their seq
	pings int
	over  string // how the connection ended
	moved chan struct{}
}

func newInbox() *inbox { return &inbox{procs: map[string][]*event{}, moved: make(chan struct{})} }

func (b *inbox) changed(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.moved)
	b.moved = make(chan struct{})
}

func (b *inbox) add(text []byte) {
	m := &message{text: text}
	if err := json.Unmarshal(text, m); err != nil {
		m.Method = "not JSON: " + string(text)
	}
	e, isEvent := m.event()
	b.changed(func() {
		if isEvent {
			e.at = len(b.all)
			b.procs[e.head.ProcessID] = inOrder(b.procs[e.head.ProcessID], e)
		}
		b.all = append(b.all, m)
	})
}

func (b *inbox) end(how string) {
	b.changed(func() {
		if b.over == "" {
			b.over = how
		}
	})
}

// wait ends when the condition holds; it is called with the lock held.
func (b *inbox) wait(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		done, over, moved := ok(), b.over != "", b.moved
		b.mu.Unlock()
		switch {
		case done:
			return nil
		case over:
			return errOver
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

// take waits for a message that nobody has taken yet.
func (b *inbox) take(ctx context.Context, want func(*message) bool) (*message, error) {
	var found *message
	err := b.wait(ctx, func() bool {
		for _, m := range b.all {
			if !m.taken && want(m) {
				m.taken, found = true, m
				return true
			}
		}
		return false
	})
	return found, err
}

// left are the messages that no step was about, other than those that come at
// a time of their own.
func (b *inbox) left() []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []json.RawMessage
	for _, m := range b.all {
		switch m.Method {
		case "process/output", "process/exited", "process/closed", "http/request/bodyDelta":
		default:
			if !m.taken {
				out = append(out, m.text)
			}
		}
	}
	return out
}
