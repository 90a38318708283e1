package evidence

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Bounds of what is remembered of the messages of a life.
const (
	maxParams   = 64 << 10  // bytes of the parameters of one message
	maxHeld     = 256 << 10 // bytes of parameters of a life
	maxMessages = 1000      // of a life
	maxOpening  = 12        // messages to a host, from the first of a life, that are kept for good
	maxAll      = 64 << 20  // bytes of parameters of all hosts
)

// message is one message that a recorder has seen.
type message struct {
	at     time.Time
	number uint64 // within its life
	sent   bool
	kind   codec.Kind
	id     uint32
	method string
	size   int
	params codec.Raw // a copy; nil: not kept
	clean  bool      // params are JSON, without the values of secrets
}

// recording is what is remembered of one life.
type recording struct {
	program string
	opening []message // the first that were sent
	window  []message // of the last [Window], from first on
	first   int       // what is before has no params, and goes when it is the larger part
	bytes   int       // of the params of window
	number  uint64    // of messages so far
	lost    lost      // those of the last [Window] for which there was no room
}

// lost counts messages by the second, so that counting takes no memory for each.
type lost [int(Window/time.Second) + 1]struct {
	second int64
	n      int
}

func (l *lost) add(at time.Time) {
	c := &l[at.Unix()%int64(len(l))]
	if c.second != at.Unix() {
		c.second, c.n = at.Unix(), 0
	}
	c.n++
}

// since returns how many were lost in the seconds from the one of a time on.
func (l *lost) since(at time.Time) (n int) {
	for _, c := range l {
		if c.second >= at.Unix() {
			n += c.n
		}
	}
	return n
}

// recorder watches one host.
type recorder struct {
	host *actors.Ref
	keep *Keeper

	mu    sync.Mutex
	lives map[uint64]*recording
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
			Sent: r.sent,
		},
		{
			Name: "evidence of what is sent", Stage: actors.StageLast,
			Write: func(line *actors.Line, m *codec.Message, _ int) (v actors.Verdict) {
				r.add(line.Life(), m, true)
				return v
			},
		},
	}
}

// of returns the recording of a life. The caller must hold mu.
func (r *recorder) of(life uint64) *recording {
	l := r.lives[life]
	if l == nil {
		l = &recording{}
		r.lives[life] = l
	}
	return l
}

func (r *recorder) named(life uint64, program string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(life).program = program
}

// add remembers a message.
func (r *recorder) add(life uint64, m *codec.Message, sent bool) {
	msg := message{at: r.host.Now(), sent: sent, kind: m.Kind, id: m.ID, method: m.Method, size: len(m.Params)}
	if 0 < msg.size && msg.size <= maxParams && r.keep.held.Load() < maxAll && !r.confides(m.Method) {
		msg.params, msg.clean = r.copied(m.Params)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of(life)
	l.number++
	msg.number = l.number
	if sent && len(l.opening) < maxOpening {
		l.opening = append(l.opening, msg)
		r.keep.held.Add(int64(len(msg.params)))
	}
	l.window = append(l.window, msg)
	l.bytes += len(msg.params)
	r.keep.held.Add(int64(len(msg.params)))
	l.trim(msg.at, &r.keep.held)
}

// copied returns a copy of parameters, as JSON if a value of a secret is in them: it may be known
// no more when they are stored.
func (r *recorder) copied(params codec.Raw) (_ codec.Raw, clean bool) {
	red := r.keep.world.Redactor
	if red == nil || !red.Active() {
		return slices.Clone(params), false
	}
	if out := red.Bytes(params); len(out) == len(params) && &out[0] == &params[0] {
		return slices.Clone(params), false
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
	return telling().MatchString(method) || s != nil && s.Confides(method)
}

// sent gives the message of a call its id.
func (r *recorder) sent(life uint64, m *codec.Message, _ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of(life)
	set := func(list []message) {
		for i := len(list) - 1; i >= 0; i-- {
			if e := &list[i]; e.sent && e.kind == codec.Request && e.id == 0 && e.method == m.Method {
				e.id = m.ID
				return
			}
		}
	}
	set(l.window[max(l.first, len(l.window)-64):])
	set(l.opening)
}

// trim forgets what is too old or too much at now.
func (l *recording) trim(now time.Time, held *atomic.Int64) {
	for ; l.first < len(l.window); l.first++ {
		m := &l.window[l.first]
		old := now.Sub(m.at) > Window
		if !old && len(l.window)-l.first <= maxMessages && l.bytes <= maxHeld {
			break
		}
		if !old {
			l.lost.add(m.at)
		}
		l.bytes -= len(m.params)
		held.Add(-int64(len(m.params)))
		m.params = nil
	}
	if l.first > len(l.window)/2 { // so each message is moved once at the most, not for each that comes
		l.window = slices.Delete(l.window, 0, l.first)
		l.first = 0
	}
}

// tend forgets what is too old.
func (r *recorder) tend() {
	now := r.host.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		l.trim(now, &r.keep.held)
	}
}

// over forgets a life and those before it: its report is filed.
func (r *recorder) over(life uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, l := range r.lives {
		if n <= life {
			r.forget(l)
			delete(r.lives, n)
		}
	}
}

// forget takes what a recording holds off the account.
func (r *recorder) forget(l *recording) {
	for _, m := range slices.Concat(l.opening, l.window[l.first:]) {
		r.keep.held.Add(-int64(len(m.params)))
	}
}

// closed forgets the host.
func (r *recorder) closed() {
	r.keep.leave(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		r.forget(l)
	}
	r.lives = map[uint64]*recording{}
}

// snapshot returns what is remembered of a life at now, oldest first.
func (r *recorder) snapshot(life uint64, now time.Time) (program string, opening, window []message, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lives[life]
	if l == nil {
		return "", nil, nil, 0
	}
	l.trim(now, &r.keep.held)
	window = slices.Clone(l.window[l.first:])
	first := l.number + 1
	if len(window) > 0 {
		first = window[0].number
	}
	for _, m := range l.opening {
		if m.number < first {
			opening = append(opening, m)
		}
	}
	return l.program, opening, window, l.lost.since(now.Add(-Window))
}
