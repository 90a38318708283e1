//go:build linux

package integration

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// attached is a program that is attached to a host, or speaks to a server of its
// own.
type attached struct {
	t       testing.TB
	session codec.Session
	enc     codec.Encoding
	rw      io.ReadWriteCloser
	notes   chan codec.Message // notifications
	served  chan error         // what Attach returned
	read    chan struct{}      // closed at the end of the stream

	mu      sync.Mutex
	next    uint32
	calls   map[uint32]chan codec.Message
	reply   func(method string) (codec.Raw, *codec.Error)                   // to requests of the server
	replies func(method string, params codec.Raw) (codec.Raw, *codec.Error) // likewise
	asked   []string
	paused  bool
	pause   chan struct{} // closed when it reads on; nil for one that never pauses
}

// pauses has it read nothing more after the message that comes next, until resume.
func (a *attached) pauses() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = true
}

func (a *attached) resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = false
	if a.pause != nil {
		close(a.pause)
		a.pause = nil
	}
}

func (a *attached) setReply(f func(method string, params codec.Raw) (codec.Raw, *codec.Error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.replies = f
}

// attachTo attaches a program to a host.
func attachTo(t testing.TB, sup *supervisor.Supervisor, host string, p codec.Protocol) *attached {
	t.Helper()
	return attachWith(t, context.Background(), sup, host, p)
}

// attachWith is attachTo with a context that says more of the program.
func attachWith(t testing.TB, ctx context.Context, sup *supervisor.Supervisor, host string, p codec.Protocol) *attached {
	t.Helper()
	ours, theirs := net.Pipe()
	a := &attached{t: t, session: p.Open(codec.Limits{}), enc: p, rw: ours, notes: make(chan codec.Message, 4096), served: make(chan error, 1), read: make(chan struct{}), calls: map[uint32]chan codec.Message{}}
	go func() { a.served <- sup.Attach(ctx, host, theirs) }()
	go a.loop()
	t.Cleanup(func() {
		_ = ours.Close()
		<-a.read
	})
	return a
}

func (a *attached) loop() {
	defer close(a.read)
	r := a.session.NewReader(a.rw)
	for {
		a.mu.Lock()
		paused, pause := a.paused, a.pause
		a.mu.Unlock()
		if paused {
			<-pause
		}
		var m codec.Message
		if r.Next(&m) != nil {
			a.mu.Lock()
			for _, c := range a.calls {
				close(c)
			}
			a.calls = nil
			a.mu.Unlock()
			return
		}
		switch m.Kind {
		case codec.Response:
			a.mu.Lock()
			c := a.calls[m.ID]
			delete(a.calls, m.ID)
			a.mu.Unlock()
			if c == nil {
				a.t.Errorf("an answer to %d, which is not open", m.ID)
				continue
			}
			c <- m
		case codec.Notification:
			select {
			case a.notes <- m:
			default: // nobody looks at them
			}
		case codec.Request:
			a.mu.Lock()
			a.asked = append(a.asked, m.Method)
			out := codec.Message{Kind: codec.Response, ID: m.ID}
			if a.reply != nil {
				out.Result, out.Err = a.reply(m.Method)
			} else if a.replies != nil {
				out.Result, out.Err = a.replies(m.Method, m.Params)
			}
			a.mu.Unlock()
			a.send(&out)
		}
	}
}

func (a *attached) send(m *codec.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := a.session.Append(nil, m)
	if err != nil {
		a.t.Error(err)
		return
	}
	_, _ = a.rw.Write(b) // the end of the stream is seen by who reads
}

func (a *attached) params(v any) codec.Raw {
	a.t.Helper()
	if v == nil {
		return nil
	}
	b, err := a.enc.Marshal(v)
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

func (a *attached) tell(method string, v any) {
	a.t.Helper()
	a.send(&codec.Message{Kind: codec.Notification, Method: method, Params: a.params(v)})
}

// begin makes a request and returns where its answer will be.
func (a *attached) begin(method string, v any) (id uint32, answer chan codec.Message) {
	a.t.Helper()
	answer = make(chan codec.Message, 1)
	a.mu.Lock()
	a.next++
	id = a.next
	if a.calls == nil {
		close(answer)
	} else {
		a.calls[id] = answer
	}
	a.mu.Unlock()
	a.send(&codec.Message{Kind: codec.Request, ID: id, Method: method, Params: a.params(v)})
	return id, answer
}

var errStream = errors.New("the stream has ended")

func (a *attached) wait(answer chan codec.Message) (string, error) {
	a.t.Helper()
	select {
	case m, ok := <-answer:
		if !ok {
			return "", errStream
		}
		if m.Err != nil {
			return "", m.Err
		}
		text, err := a.enc.ToJSON(m.Result)
		return string(text), err
	case <-time.After(patience):
		a.t.Fatal("no answer")
		return "", nil
	}
}

func (a *attached) call(method string, v any) (string, error) {
	a.t.Helper()
	_, answer := a.begin(method, v)
	return a.wait(answer)
}

// must is call for what has to succeed.
func (a *attached) must(method string, v any) string {
	a.t.Helper()
	out, err := a.call(method, v)
	if err != nil {
		a.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// until takes notifications until one fits.
func (a *attached) until(what string, fits func(codec.Message) bool) codec.Message {
	a.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m := <-a.notes:
			if fits(m) {
				return m
			}
		case <-deadline:
			a.t.Fatalf("no %s", what)
		}
	}
}

func noted(method string, parts ...string) func(codec.Message) bool {
	return func(m codec.Message) bool {
		return m.Method == method && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(string(m.Params), p) })
	}
}
