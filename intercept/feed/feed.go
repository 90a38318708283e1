// Package feed hands what a host says by itself to those who follow it. Nobody who
// follows holds up the host, and a message costs next to nothing while nobody does.
package feed

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Message is a notification or a request of a host, as a follower sees it.
type Message struct {
	Time     time.Time
	Host     string
	Life     uint64
	Kind     codec.Kind // Notification or Request
	Method   string
	Params   codec.Raw
	Encoding codec.Encoding // of Params

	// Lost, if not 0, is how many messages a follower that was too slow has
	// missed here; nothing else is set then.
	Lost uint64

	// shown is Params as JSON without the values of secrets, and Method likewise;
	// nil: nobody was given any.
	shown  json.RawMessage
	called string
}

// MarshalJSON renders it as {"time","host","life","kind","method","params"}, or
// {"lost":n}. Parameters that JSON cannot say are null. Values of secrets that
// hosts were given are not in it, as they are in Params.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Lost > 0 {
		return json.Marshal(struct {
			Lost uint64 `json:"lost"`
		}{m.Lost})
	}
	params := json.RawMessage("null")
	if m.shown != nil {
		params, m.Method = m.shown, m.called
	} else if m.Encoding != nil && len(m.Params) > 0 {
		if text, err := m.Encoding.ToJSON(m.Params); err == nil {
			params = text
		}
	}
	return json.Marshal(struct {
		Time   time.Time       `json:"time"`
		Host   string          `json:"host"`
		Life   uint64          `json:"life"`
		Kind   string          `json:"kind"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}{m.Time, m.Host, m.Life, m.Kind.String(), m.Method, params})
}

// A follower may be this many messages, or this many bytes of them, behind;
// of more it is told the number.
const (
	feedAhead = 1024
	feedBytes = 8 << 20
)

// Feed is what one host says by itself.
type Feed struct {
	host *actors.Ref

	n         atomic.Int32
	mu        sync.Mutex
	show      Show
	followers map[*follower]bool
	closed    bool
}

// Show returns the params of a message as JSON, and its method, without the values of
// secrets; nil if they may be shown as they are.
type Show func(m *codec.Message) (params json.RawMessage, method string)

// New returns the feed of a host. show may be nil.
func New(host *actors.Ref, show Show) *Feed { return &Feed{host: host, show: show} }

// Show replaces show of [New].
func (f *Feed) Show(show Show) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.show = show
}

// Interceptor returns the feed as an interceptor of its host.
func (f *Feed) Interceptor() *actors.Interceptor {
	return &actors.Interceptor{Name: "feed", Stage: actors.StageWatch, Value: f, Inbound: f.publish, Closed: f.close}
}

type follower struct {
	mu     sync.Mutex
	queue  []Message
	bytes  int
	lost   uint64
	ended  bool
	signal chan struct{} // capacity 1
}

// publish hands on a message.
func (f *Feed) publish(life uint64, m *codec.Message) (v actors.Verdict) {
	if f.n.Load() == 0 {
		return v
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Message{Time: f.host.Now(), Host: f.host.Name(), Life: life, Kind: m.Kind, Method: m.Method, Params: m.Params, Encoding: f.host.Encoding()}
	if f.show != nil {
		// Now, as who follows may look when the values are known no more.
		out.shown, out.called = f.show(m)
	}
	for w := range f.followers {
		w.put(out)
	}
	return v
}

func (m *Message) size() int { return len(m.Params) + len(m.shown) }

func (w *follower) put(m Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost > 0 || len(w.queue) >= feedAhead || len(w.queue) > 0 && w.bytes+m.size() > feedBytes {
		w.lost++
	} else {
		w.queue = append(w.queue, m)
		w.bytes += m.size()
	}
	w.wake()
}

func (w *follower) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *follower) take() (queue []Message, lost uint64, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue, lost, ended = w.queue, w.lost, w.ended
	w.queue, w.bytes, w.lost = nil, 0, 0
	return queue, lost, ended
}

// close ends all followers once they have seen what is there.
func (f *Feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w := range f.followers {
		w.mu.Lock()
		w.ended = true
		w.wake()
		w.mu.Unlock()
	}
}

// Messages returns the notifications and requests that the host makes from now
// on, over all its lives, until ctx ends or the host is removed. The supervisor's
// answers are not among them. Followers begin when the sequence is first asked
// for, and hold nobody up.
func (f *Feed) Messages(ctx context.Context) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		w := &follower{signal: make(chan struct{}, 1)}
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return
		}
		if f.followers == nil {
			f.followers = make(map[*follower]bool)
		}
		f.followers[w] = true
		f.n.Store(int32(len(f.followers)))
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			delete(f.followers, w)
			f.n.Store(int32(len(f.followers)))
			f.mu.Unlock()
		}()
		for {
			queue, lost, ended := w.take()
			for _, m := range queue {
				if !yield(m) {
					return
				}
			}
			if lost > 0 && !yield(Message{Lost: lost}) {
				return
			}
			if ended {
				return
			}
			select {
			case <-w.signal:
			case <-ctx.Done():
				return
			}
		}
	}
}
