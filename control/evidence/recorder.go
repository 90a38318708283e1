package evidence

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// recorder watches one host.
type recorder struct {
	host *actors.Ref
	keep *Keeper

	newest atomic.Pointer[life] // of lives, nil before the first

	mu    sync.Mutex
	lives map[uint64]*life
}

// interceptors returns what watches the host: behind all others what is sent, as it is sent, and
// before them what comes.
func (r *recorder) interceptors() []*actors.Interceptor {
	return []*actors.Interceptor{
		{
			Name: "evidence", Stage: actors.StageWatch, Value: r, Over: r.over, Closed: r.closed,
			Up: func(line *actors.Line, publish func()) {
				if _, result, ok := line.Opened(); ok {
					r.named(line.Life(), programOf(result))
				}
				publish()
			},
			Inbound: func(life uint64, m *codec.Message) (v actors.Verdict) {
				r.add(life, m, false)
				return v
			},
			Answered: func(life uint64, id uint32, _ time.Duration) {
				r.add(life, &codec.Message{Kind: codec.Response, ID: id}, false)
			},
			// A call is seen here, where it has its id, in the order of the wire.
			Sent: func(life uint64, m *codec.Message, _ bool) { r.add(life, m, true) },
		},
		{
			Name: "evidence of what is sent", Stage: actors.StageLast,
			Write: func(line *actors.Line, m *codec.Message, _ int) (v actors.Verdict) {
				if m.Kind != codec.Request {
					r.add(line.Life(), m, true)
				}
				return v
			},
		},
	}
}

// of returns what is remembered of a life.
func (r *recorder) of(n uint64) *life {
	if l := r.newest.Load(); l != nil && l.n == n {
		return l
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.locked(n)
}

// locked is of for a caller that holds mu.
func (r *recorder) locked(n uint64) *life {
	l := r.lives[n]
	if l == nil {
		l = &life{n: n}
		l.sent.all, l.received.all = &r.keep.held, &r.keep.held
		r.lives[n] = l
	}
	if newest := r.newest.Load(); newest == nil || newest.n < n {
		r.newest.Store(l)
	}
	return l
}

func (r *recorder) named(n uint64, program string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked(n).program = program
}

// add remembers a message.
func (r *recorder) add(n uint64, m *codec.Message, sent bool) {
	h := header{at: r.host.Env().Now(), sent: sent, kind: m.Kind, id: m.ID, method: m.Method, size: len(m.Params)}
	var params codec.Raw
	if 0 < h.size && h.size <= maxParams && !r.confides(m.Method) {
		params, h.clean = r.redacted(m.Params)
	}
	l := r.of(n)
	if sent {
		l.sent.add(h, params)
	} else {
		l.received.add(h, params)
	}
}

// redacted returns parameters, as JSON if a value of a secret is in them: it may be known no more
// when they are stored. The result is params itself if no value is in them.
func (r *recorder) redacted(params codec.Raw) (_ codec.Raw, clean bool) {
	red := r.keep.world.Redactor
	if red == nil || !red.Active() {
		return params, false
	}
	if out := red.Bytes(params); len(out) == len(params) && &out[0] == &params[0] {
		return params, false
	}
	text, err := r.host.Encoding().ToJSON(params)
	if err != nil {
		return nil, false
	}
	return withoutSecrets(red, text), true
}

// confides reports whether the parameters of a method may be a secret that is not known yet.
func (r *recorder) confides(method string) bool {
	s := r.host.Features().Secrets
	return tells(method) || s != nil && s.Confides(method)
}

// tend forgets what is too old.
func (r *recorder) tend() {
	now := r.host.Env().Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		l.sent.tend(now)
		l.received.tend(now)
	}
}

// over forgets a life and those before it: its report is filed.
func (r *recorder) over(life uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, l := range r.lives {
		if n <= life {
			r.forget(l)
		}
	}
}

// forget forgets a life. The caller must hold mu.
func (r *recorder) forget(l *life) {
	l.sent.forget()
	l.received.forget()
	delete(r.lives, l.n)
	r.newest.CompareAndSwap(l, nil)
}

// closed forgets the host.
func (r *recorder) closed() {
	r.keep.leave(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		r.forget(l)
	}
}

// snapshot returns what is remembered of a life at a time, oldest first.
func (r *recorder) snapshot(n uint64, at time.Time) (program string, opening, window []message, lost int) {
	env := r.host.Env()
	now := env.Now()
	now -= int64(env.Time(now).Sub(at))
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lives[n]
	if l == nil {
		return "", nil, nil, 0
	}
	opening, window, lost = l.snapshot(now)
	return l.program, opening, window, lost
}
