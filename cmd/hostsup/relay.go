package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// Bounds of how long a program that is attached goes on without its supervisor.
const (
	// reconnectWithin is how long a supervisor that went away is waited for.
	reconnectWithin = time.Minute
	// reconnectAfter is how long the second attempt to reach it waits, and each further one
	// twice as long as the one before, up to reconnectAfterMost. The first does not wait. It
	// is the same for a supervisor that is lost again and again: one that is back by then
	// must not be waited for any longer.
	reconnectAfter     = 50 * time.Millisecond
	reconnectAfterMost = 2 * time.Second
	// mostLosses is the loss of a supervisor, within lossWindow, that is not survived.
	mostLosses = 20
	lossWindow = 5 * time.Minute
	// lossesApart is how long it has to be there for the next break to be short.
	lossesApart = 10 * time.Second
)

// relayRestart returns how often a lost supervisor is returned to, and how soon: at once, or after
// a break if the one before was lost soon after it came.
func relayRestart() lifecycle.RestartRule {
	return lifecycle.RestartRule{
		MaxCrashes: mostLosses, Window: lossWindow,
		// With its jitter the longest break is reconnectAfterMost.
		Backoff: lifecycle.Backoff{Initial: reconnectAfter, Max: reconnectAfterMost * 5 / 6, Multiplier: 2, Jitter: 0.2, Healthy: lossesApart},
	}
}

// relay is a host of a supervisor in this process, to which each life is a connection to a host
// of another supervisor. What an attached program needs to go on over a crash of its server,
// such as its documents, is then kept here, and the loss of that supervisor is such a crash.
type relay struct {
	host     string
	protocol string // that the client speaks, as the configuration names it
	join     func(ctx context.Context) (*control.Attachment, error)
	within   time.Duration         // see reconnectWithin
	restart  lifecycle.RestartRule // see relayRestart

	mu      sync.Mutex
	first   *control.Attachment // for the first life; nil once that has begun
	opened  bool                // an opening was accepted
	refused *codec.Error        // how the last opening was refused; nil: it was not
	last    error               // why the last life has ended
	final   bool                // another life would end the same way
	life    *relayedLife        // the one that begins, or goes on
}

// attachRelay makes the standard streams a client of a host that was joined, until the client
// has left, or the host has sent it away.
func (a *app) attachRelay(r *relay, first *control.Attachment) error {
	in, err := a.chosen(r, first.Protocols)
	if in == nil || err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	spec := supervisor.HostSpec{
		Name: r.host, Command: []string{self}, Protocol: relayed{spoken(r.protocol), r}, Attach: true, Limits: codec.Limits{Frame: first.MaxMessage},
		Start:    hostspec.StartRule{OnTimeout: hostspec.TimeoutWait}, // the other supervisor bounds it
		Restart:  r.restart,
		Liveness: hostspec.LivenessRule{Ping: time.Minute}, // likewise
		Features: []supervisor.Feature{attach.Rule{Silent: first.Silent}},
	}
	err = a.serveAlone(supervisor.Spec{
		Groups: []supervisor.GroupSpec{{Name: hostName(r.host), Hosts: []supervisor.HostSpec{spec}}}, Parts: []supervisor.Part{attach.Part{Alone: true, Relayed: r.refusal}},
	}, spec.Name, in, r.watch, supervisor.WithLauncher(inProcess{r.run}), supervisor.WithKill(sandbox.KillGroup))
	if err == nil {
		err = r.end() // the client may have left because of that
	}
	return err
}

// chosen finds out which of the protocols of its host the client speaks. It returns the input of the
// client, nil if the client has left without a message.
func (a *app) chosen(r *relay, protocols []string) (io.Reader, error) {
	if r.protocol = protocols[0]; len(protocols) == 1 {
		return a.in, nil
	}
	in := bufio.NewReaderSize(a.in, 64<<10)
	name, first, err := attach.Opening(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case !slices.Contains(protocols, name):
		return nil, usagef("the input begins with byte %#02x, which is no message of %s, which clients of host %q speak", first, strings.Join(protocols, " or "), r.host)
	}
	r.protocol = name
	return in, nil
}

// end returns why the host has sent the client away, nil if it has not.
func (r *relay) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.final {
		return nil
	}
	return r.last
}

// watch tells why the host was given up, unless that is because of its opening, which the
// client may repeat. It returns then, or when sup has ended.
func (r *relay) watch(sup *supervisor.Supervisor, given chan<- error) {
	for ev := range sup.Follow(context.Background()) {
		if ev.To == nil || *ev.To != lifecycle.Failed || r.refusal() != nil {
			continue
		}
		r.mu.Lock()
		err := r.last
		r.mu.Unlock()
		if err == nil {
			err = &control.Error{Class: control.Failed, Message: ev.Reason}
		}
		given <- err
		return
	}
}

// relayedLife is one connection to the host. See [codec.Rendezvous].
type relayedLife struct {
	relay *relay
	over  sync.Once
	ended chan error // gets how it has ended
}

// meet prepares the connection of a life.
func (r *relay) meet(func() (string, error)) (codec.Rendezvous, error) {
	l := &relayedLife{relay: r, ended: make(chan error, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life = l
	return l, nil
}

// run stands for the process of a life: it returns when the connection or ctx has ended.
func (r *relay) run(ctx context.Context) error {
	r.mu.Lock()
	l := r.life
	r.mu.Unlock()
	select {
	case err := <-l.ended:
		return err
	case <-ctx.Done():
		l.end(ctx.Err(), false)
		return ctx.Err()
	}
}

// end is the end of a life. It is the reason of that unless this side has ended it.
func (l *relayedLife) end(err error, isReason bool) {
	l.over.Do(func() {
		if isReason {
			l.relay.mu.Lock()
			l.relay.last = err
			l.relay.final = !isLoss(err) || control.ClassOf(err) == control.Overloaded // it has no instance for this client
			l.relay.mu.Unlock()
		}
		l.ended <- err
	})
}

// Env implements [codec.Rendezvous].
func (*relayedLife) Env() []string { return nil }

// Files implements [codec.Rendezvous].
func (*relayedLife) Files() []*os.File { return nil }

// Connect implements [codec.Rendezvous]. An error is the end of what stands for the process,
// which says more.
func (l *relayedLife) Connect(ctx context.Context) (codec.Stream, error) {
	a, err := l.relay.attachment(ctx)
	if err == nil {
		err = l.relay.suits(a)
	}
	if err != nil {
		l.end(err, ctx.Err() == nil)
		<-ctx.Done()
		return nil, err
	}
	return relayedStream{a, l}, nil
}

// Close implements [codec.Rendezvous].
func (l *relayedLife) Close() error {
	l.end(nil, false)
	return nil
}

// relayedStream is the connection of a life.
type relayedStream struct {
	*control.Attachment
	life *relayedLife
}

// Read notes why the connection has ended.
func (s relayedStream) Read(p []byte) (int, error) {
	n, err := s.Attachment.Read(p)
	if errors.Is(err, io.EOF) {
		s.life.end(nil, true)
	} else if err != nil {
		s.life.end(err, true)
	}
	return n, err
}

// Close ends the connection by this side.
func (s relayedStream) Close() error {
	s.life.end(nil, false)
	return s.Attachment.Close()
}

// attachment joins the host, for which it waits while its supervisor is away.
func (r *relay) attachment(ctx context.Context) (*control.Attachment, error) {
	r.mu.Lock()
	a := r.first
	r.first = nil
	r.mu.Unlock()
	if a != nil {
		return a, nil
	}
	late := time.Now().Add(r.within)
	for wait := reconnectAfter; ; wait = min(2*wait, reconnectAfterMost) {
		a, err := r.join(ctx)
		if err == nil || !isLoss(err) || ctx.Err() != nil {
			return a, err
		}
		if !time.Now().Add(wait).Before(late) {
			return nil, withMessage(err, "%s; the supervisor was waited for for %s", err, r.within)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// suits closes an attachment to a host that speaks another protocol than the client, which is
// the error.
func (r *relay) suits(a *control.Attachment) error {
	if a.Protocols == nil || slices.Contains(a.Protocols, r.protocol) { // a supervisor of an older version does not tell
		return nil
	}
	a.Close()
	return &control.Error{
		Class: control.Failed, Host: r.host,
		Message: fmt.Sprintf("host %q speaks %s since its supervisor was started again, and spoke %s when this program attached: attach anew", r.host, strings.Join(a.Protocols, " and "), r.protocol),
	}
}

// isLoss reports whether the connection was lost because its supervisor went away, or does not
// take it at present.
func isLoss(err error) bool {
	var e *control.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Class {
	case control.NoSupervisor, control.Disconnected, control.Closed, control.Overloaded, control.TimedOut:
		return true
	}
	return false
}

// withMessage returns an error of the same class.
func withMessage(err error, format string, args ...any) error {
	return &control.Error{Class: control.ClassOf(err), Message: fmt.Sprintf(format, args...)}
}

// refusal returns how the last opening was refused, nil if it was not.
func (r *relay) refusal() *codec.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// explain says why a life has ended. See [codec.Features].
func (r *relay) explain(codec.End) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return "", false
	}
	return r.last.Error(), r.final
}

// relayed is the protocol of a relayed host.
type relayed struct {
	codec.Protocol
	relay *relay
}

// Open implements [codec.Protocol].
func (p relayed) Open(l codec.Limits) codec.Session {
	return relayedSession{p.Protocol.Open(l), p.relay}
}

// Features implements [codec.Protocol].
func (p relayed) Features() codec.Features {
	f := p.Protocol.Features()
	f.Explain, f.Rendezvous = p.relay.explain, p.relay.meet
	return f
}

// Defaults implements [codec.Protocol].
func (p relayed) Defaults() codec.Defaults {
	d := p.Protocol.Defaults()
	d.Transport = "" // see Features
	return d
}

type relayedSession struct {
	codec.Session
	relay *relay
}

// Handshake implements [codec.Session].
func (s relayedSession) Handshake(h codec.Hello) codec.Handshake {
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.refused = nil
	return relayedHandshake{s.Session.Handshake(h), s.relay}
}

// relayedHandshake notes how the host answers it. A host that refuses the opening of its client
// is not opened so again before the client has asked for it. One that was open before may have
// come back before it can serve.
type relayedHandshake struct {
	codec.Handshake
	relay *relay
}

// Handle implements [codec.Handshake].
func (h relayedHandshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	out, done, err := h.Handshake.Handle(m)
	h.relay.mu.Lock()
	defer h.relay.mu.Unlock()
	h.relay.opened = h.relay.opened || done
	var refusal *codec.Error
	if errors.As(err, &refusal) && !h.relay.opened {
		h.relay.refused = refusal
		err = fmt.Errorf("%w: %w", codec.ErrVersion, err)
	}
	return out, done, err
}

// relays reports whether attach can go on without its supervisor, on this system and with a
// host of these protocols; nil if they are not known.
func relays(protocols []string) bool {
	for _, p := range protocols {
		if spoken(p) == nil {
			return false
		}
	}
	return protocols != nil && unsupported("attach", runtime.GOOS) == nil
}
