package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// Capabilities by name, in the order in which hostsup names them.
var capabilities = []string{"ack", "cancel", "stream", "trace", "ping"}

const (
	quiet      = 150 * time.Millisecond // how long what must not come is waited for
	transcript = 200                    // messages of a play that a report keeps
)

// verdict ends a play. It is what the methods of play panic with; judge recovers it.
type verdict struct {
	outcome Outcome
	rule    string // that is broken, "": the one that is played
	got     string
}

// play is one rule under way against one process: the supervisor's side of the connection.
// Its methods are for one goroutine. They end the play by a verdict when the host breaks a
// rule, so that a play reads as the list of what happens.
type play struct {
	ctx       context.Context
	rule      *Rule
	program   *program
	transport hostspec.Transport
	timeout   time.Duration // how long what must come is waited for

	*host
	*monitor
	last  uint32     // id of the last request made
	inbox []*message // taken and not looked for yet
	end   error      // how the stream has ended
	own   bool       // whatever is broken from here on is the rule of this play

	sent          []string
	expected, got string
	answer        any // the result of initialize
}

// start starts the process.
func (p *play) start() { p.startAt(3) }

// startAt is start with another number of the descriptor for the transport fd.
func (p *play) startAt(fd int) {
	p.expect("the host connects")
	h, err := p.program.start(p.ctx, p.transport, fd, p.timeout)
	p.host = h
	if err != nil {
		p.fail("%v", err)
	}
	p.monitor = newMonitor()
}

// expect says what is to come next, for the report.
func (p *play) expect(format string, args ...any) { p.expected = fmt.Sprintf(format, args...) }

// fail ends the play: its rule is broken.
func (p *play) fail(format string, args ...any) {
	got := fmt.Sprintf(format, args...)
	if p.host != nil {
		if out := p.output(); out != "" {
			got += "; it has printed: " + out
		}
	}
	panic(verdict{outcome: Broken, got: got})
}

// skip ends the play: the host does not have what it takes.
func (p *play) skip(format string, args ...any) {
	panic(verdict{outcome: Skipped, got: fmt.Sprintf(format, args...)})
}

// blame ends the play: the host has broken the rule of b, which may be another one.
func (p *play) blame(b *breach) {
	p.expected = b.want
	rule := b.rule
	if p.own {
		rule = ""
	}
	panic(verdict{outcome: Broken, rule: rule, got: b.got})
}

// offer returns the params of initialize that name these capabilities.
func offer(caps []string) map[string]any {
	return map[string]any{
		"protocol": native.Version, "capabilities": caps, "supervisor": map[string]any{"name": "hostsup conformance", "version": "1"},
		"host": map[string]any{"name": "conformance", "life": 1}, "init": nil, "extensions": []string{},
	}
}

// open starts the host and opens the connection with these capabilities; nil: all but
// extensions.
func (p *play) open(caps ...string) {
	if caps == nil {
		caps = capabilities
	}
	p.openWith(offer(caps))
}

// openWith is open with other params of initialize.
func (p *play) openWith(params map[string]any) {
	p.start()
	p.initialize(params)
	p.initialized()
}

// initialized says that the opening is over.
func (p *play) initialized() { p.send(codec.Notification, native.MethodInitialized, nil) }

// initialize opens the connection up to the answer of the host.
func (p *play) initialize(params map[string]any) {
	named, _ := params["capabilities"].([]string)
	p.offered(named)
	p.last = 0
	id := p.request(native.MethodInitialize, params)
	p.expect("the answer to initialize")
	m := p.response(id)
	if m.failure != nil {
		p.blame(&breach{"O1", "a result of initialize", m.text})
	}
	p.answer = m.payload
}

// need skips the rule if a capability is not in force.
func (p *play) need(caps ...string) {
	for _, c := range caps {
		if !p.force[c] {
			p.skip("the host does not name the capability %s", c)
		}
	}
}

// write sends bytes as they are. A host that does not take them any more is noticed by what
// it does not send.
func (p *play) write(b []byte, what string) {
	if len(p.sent) < transcript {
		p.sent = append(p.sent, what)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := p.wire.Write(b)
		wrote <- err
	}()
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	for {
		select {
		case <-wrote: // an error is that the host has closed the stream, which take reports
			return
		case e := <-p.in: // a host that waits for its messages to be read reads no others
			if m := p.judge(e); m != nil {
				p.inbox = append(p.inbox, m)
			}
		case <-timer.C:
			_ = p.wire.Close()
			<-wrote
			p.fail("the host has not read %d bytes within %v", len(b), p.timeout)
		}
	}
}

// send sends one message.
func (p *play) send(elements ...any) { p.together(elements) }

// together sends messages in one write. What must directly follow a message is sent with
// it, because a host on a busy machine may have acted on the first one otherwise.
func (p *play) together(messages ...[]any) {
	var all []byte
	var texts []string
	for _, m := range messages {
		b := pack(m...)
		p.note(m)
		all, texts = append(all, b...), append(texts, showSized(m, len(b)))
	}
	p.write(all, strings.Join(texts, " "))
}

// body sends one frame with these bytes.
func (p *play) body(b ...byte) {
	p.write(frame(b), fmt.Sprintf("a frame with the body % x", b[:min(len(b), 32)]))
}

// request sends a request and returns its id.
func (p *play) request(method string, params any) uint64 {
	p.last++
	return p.requestAs(p.last, method, params)
}

func (p *play) requestAs(id uint32, method string, params any) uint64 {
	p.send(codec.Request, id, method, params)
	return uint64(id)
}

// take returns the next message, nil at the end of the stream or after the time.
func (p *play) take(within time.Duration) *message {
	if p.end != nil {
		return nil
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case e := <-p.in:
		return p.judge(e)
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		p.skip("%v", p.ctx.Err())
		return nil
	}
}

// judge takes in an event: it returns the message, or nil at the end of the stream.
func (p *play) judge(e event) *message {
	if e.err != nil {
		var b *breach
		if errors.As(e.err, &b) {
			p.end = e.err
			p.blame(b)
		}
		p.end = e.err
		return nil
	}
	m, b := parse(e.body)
	if b == nil {
		m.at = e.at
		b = p.see(m)
	}
	if b != nil {
		p.blame(b)
	}
	return m
}

// find returns the first message that matches, whether it has come already or comes now.
// Without one within the time, the rule is broken.
func (p *play) find(match func(*message) bool) *message {
	if i := slices.IndexFunc(p.inbox, match); i >= 0 {
		m := p.inbox[i]
		p.inbox = slices.Delete(p.inbox, i, i+1)
		return p.found(m)
	}
	for until := time.Now().Add(p.timeout); ; {
		m := p.take(time.Until(until))
		if m == nil {
			p.fail("%s", p.silence())
		}
		if match(m) {
			return p.found(m)
		}
		p.inbox = append(p.inbox, m)
	}
}

func (p *play) found(m *message) *message {
	p.got = m.text
	return m
}

// silence describes that nothing more has come.
func (p *play) silence() string {
	got := fmt.Sprintf("nothing within %v", p.timeout)
	if p.end != nil {
		exit, _ := p.exit(p.timeout)
		got = "the end of the connection; " + exit
	}
	var rest []string
	for _, m := range p.inbox {
		rest = append(rest, m.text)
	}
	if len(rest) > 5 {
		rest = append(rest[:5], "…")
	}
	if len(rest) > 0 {
		got += "; besides " + strings.Join(rest, ", ")
	}
	return got
}

// response waits for the answer to a request.
func (p *play) response(id uint64) *message {
	m := p.find(func(m *message) bool { return m.kind == codec.Response && m.id == id })
	if r := p.mine[id]; r != nil && strings.HasPrefix(r.method, "conformance/") && text(m.failure, "name") == codec.NameMethodNotFound {
		p.skip("the host does not offer %s", r.method)
	}
	return m
}

// result waits for the result of a request.
func (p *play) result(id uint64) any {
	p.expect("a result of request %d", id)
	m := p.response(id)
	if m.failure != nil {
		p.fail("%s", m.text)
	}
	return m.payload
}

// failure waits for the error of a request, whose name must be this one; "": any.
func (p *play) failure(id uint64, name string) any {
	p.expect("an error %s of request %d", name, id)
	m := p.response(id)
	if m.failure == nil || name != "" && text(m.failure, "name") != name {
		p.fail("%s", m.text)
	}
	return m.failure
}

// same holds that a request has this result.
func (p *play) same(id uint64, want any) {
	got := p.result(id)
	if b, large := want.([]byte); large && len(b) > shown {
		p.expect("a result of %d bytes of request %d", len(b), id)
	} else {
		p.expect("the result %s of request %d", show(want), id)
	}
	if !equal(got, want) {
		p.fail("%s", show(got))
	}
}

// equal compares two values as MessagePack has them.
func equal(a, b any) bool {
	x, errX := (mpack.Encoding{}).Marshal(normal(a))
	y, errY := (mpack.Encoding{}).Marshal(normal(b))
	return errX == nil && errY == nil && string(x) == string(y)
}

// normal makes one value of those that are encoded alike: maps become sorted lists.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := []any{"map"}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = append(out, k, normal(v[k]))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i])
		}
		return out
	case int:
		return int64(v)
	}
	return v
}

// alive holds that the host still answers.
func (p *play) alive() {
	id := p.request("conformance-unknown", nil)
	p.expect("the host still answers, and request %d with the error MethodNotFound", id)
	if m := p.response(id); m.failure == nil {
		p.blame(&breach{"A7", p.expected, m.text})
	}
}

// still takes in what comes within a short time, which only the monitor judges.
func (p *play) still() { p.pause(quiet) }

// pause is still for another time.
func (p *play) pause(d time.Duration) {
	for until := time.Now().Add(d); ; {
		m := p.take(time.Until(until))
		if m == nil {
			return
		}
		p.inbox = append(p.inbox, m)
	}
}

// ends holds that the host ends the connection. What it sends before does not matter.
func (p *play) ends() {
	p.expect("the host ends the connection")
	late := time.NewTimer(p.timeout)
	defer late.Stop()
	for p.end == nil {
		select {
		case e := <-p.in:
			if p.end = e.err; e.err == nil {
				if m, bad := parse(e.body); bad == nil {
					p.inbox = append(p.inbox, m)
				}
			}
		case <-late.C:
			p.fail("%s", p.silence())
		case <-p.ctx.Done():
			p.skip("%v", p.ctx.Err())
		}
	}
	p.got = "the end of the connection"
}

// asked waits for a request of the host.
func (p *play) asked(method string) *message {
	p.expect("the request %s of the host", method)
	return p.find(func(m *message) bool { return m.kind == codec.Request && m.method == method })
}

// closeWrite ends the half of the stream towards the host.
func (p *play) closeWrite() {
	p.sent = append(p.sent, "the end of the stream")
	_ = p.wire.CloseWrite() // an error is that the host has closed it
}

// exits holds that the process ends.
func (p *play) exits() string {
	p.expect("the process ends")
	e, ended := p.exit(p.timeout)
	if !ended {
		p.fail("%s", e)
	}
	p.got = e
	return e
}

// lengthOf is the header of a frame with a body of n bytes.
func lengthOf(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
