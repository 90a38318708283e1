package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

// Supervisor is the tree that a Server controls; [Over] makes one of a running tree. Its
// methods are called concurrently.
type Supervisor interface {
	// Names yields the name and the group of each host, in the order of declaration.
	Names() iter.Seq2[string, string]
	// StatusOf returns the status of the tree with the hosts for which pick returns true.
	StatusOf(pick func(host, group string) bool) supervisor.Status
	// Events returns the events after number since that are kept, and with follow later ones.
	Events(ctx context.Context, since uint64, follow bool) iter.Seq[supervisor.Event]
	Crashes(host string) ([]record.CrashReport, error)
	Crash(id string) (*record.CrashReport, error)
	Activate(ctx context.Context, host, event string) error // host "": every host that it concerns
	Extensions(host string) ([]extensions.Status, error)
	SetExtension(ctx context.Context, host, id string, verb extensions.Verb) error
	RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error) // host "": all hosts that have folders
	Channels(host string) ([]extensions.Channel, error)
	Channel(host, name string) (ChannelLog, error)
	// AskLanguage asks the extensions of VS Code about a document; see [supervisor.Supervisor.AskLanguage].
	AskLanguage(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error)
	// Questions returns the open questions of extensions of a host, "" for all hosts.
	Questions(host string) ([]questions.Question, error)
	// AnswerQuestion answers a question, or dismisses it; see [questions.Service.Answer].
	AnswerQuestion(ctx context.Context, id string, values []string, dismiss bool) error
	// Activity returns what the extensions of a host show, "" for all hosts.
	Activity(host string) (status.State, error)
	// CancelProgress cancels a progress; see [status.Service.Cancel].
	CancelProgress(id string) error
	// Views returns the views of the extensions of a host, "" for all hosts.
	Views(host string) ([]views.View, error)
	// ReadView reads items of a view; see [views.Service.Read].
	ReadView(ctx context.Context, q views.Query) (*views.Tree, error)
	// ActInView does what a user does in a view; see [views.Service.Act].
	ActInView(ctx context.Context, host, view string, action views.Action, items []string) error
	// SourceControls returns the source controls of a host, "" for all hosts.
	SourceControls(host string) ([]scm.Control, error)
	// WriteSourceControl writes a message unless it is nil, and then executes the command for it if accept
	// is set; see [scm.Service].
	WriteSourceControl(ctx context.Context, id string, message *string, accept bool) error
	// Decorations returns what extensions show beside the names of files; host "" is all hosts. See
	// [fileinfo.Service.Decorations].
	Decorations(ctx context.Context, host string, files []workbench.URI) ([]fileinfo.Decoration, error)
	// Timeline returns how a file has changed; see [fileinfo.Service.Timeline].
	Timeline(ctx context.Context, host string, file workbench.URI, limit int) ([]fileinfo.Moment, error)
	// Originals returns what source controls compare a file with; see [scm.Service.Original].
	Originals(ctx context.Context, host string, file workbench.URI) ([]scm.Original, error)
	// TestControllers returns the test controllers of a host, "" for all hosts.
	TestControllers(host string) ([]tests.Controller, error)
	// ReadTests reads tests of a host; see [tests.Service.Read].
	ReadTests(ctx context.Context, host string, q tests.Query) (*tests.TestTree, error)
	// RunTests runs tests of a host; see [tests.Service.Run].
	RunTests(ctx context.Context, host string, q tests.Request) (*tests.Run, error)
	// TestRuns returns the last runs of a host, "" for all hosts.
	TestRuns(host string) ([]tests.Run, error)
	// CancelTestRun cancels a run of tests; see [tests.Service.Cancel].
	CancelTestRun(id string) error
	Host(name string) (Host, error)
	// Instances returns the instances of name, each call of which goes to one of them, and
	// their names; nil if there are none.
	Instances(name string) (any Host, names []string)
	Done() <-chan struct{} // closed when it has ended
}

// ChannelLog is what was written into an output channel of extensions, over all lives.
type ChannelLog interface {
	// History returns the last n lines, oldest first, or fewer if there are not as many. With an
	// error it returns the lines that could be read.
	History(n int) ([]capture.Line, error)
	// Follow returns the last n lines and later ones, until ctx ends or the host is removed.
	Follow(ctx context.Context, n int) iter.Seq[capture.Line]
}

// Host is one host of a [Supervisor].
type Host interface {
	Status() record.HostStatus
	Encoding() codec.Encoding // nil: it cannot be called
	Call(ctx context.Context, c Call) (codec.Raw, error)
	Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error]
	Notify(ctx context.Context, method string, params codec.Raw) error
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Restart(ctx context.Context) error
	Reset(ctx context.Context) error
	Wait(ctx context.Context, states ...lifecycle.State) error
	History(n int) ([]capture.Line, error)
	Follow(ctx context.Context, n int) iter.Seq[capture.Line]
	// After returns the lines after number seq that are in memory, and later ones.
	After(ctx context.Context, seq uint64, backlog bool) iter.Seq[capture.Line]
	Messages(ctx context.Context) iter.Seq[feed.Message]
	Inspect(ctx context.Context) (*supervisor.Inspection, error)
	Profile(ctx context.Context, d time.Duration, w io.Writer) error
	HeapSnapshot(ctx context.Context, w io.Writer) error
	// AttachProtocols are the protocols of programs that attach, nil if none can. Of several, the first
	// byte of a program decides; see attach.Opening.
	AttachProtocols() []string
	// MaxMessage is how many bytes a message of the host and of its programs may have.
	MaxMessage() int
	// Silent reports whether programs are told nothing of crashes, see attach.Rule.
	Silent() bool
	// Refused returns why no program may attach now, nil if one may.
	Refused() error
	Attach(ctx context.Context, rw io.ReadWriteCloser) error
}

// Call is a call of a host.
type Call struct {
	Method     string
	Params     codec.Raw
	Timeout    time.Duration // 0: the host's own
	Idempotent bool          // may be sent again to the next life
	Trace      codec.Trace   // of the caller; hosts get it where their protocol carries it
}

// Over makes sup the tree of a Server.
func Over(sup *supervisor.Supervisor) Supervisor { return tree{sup} }

type tree struct{ *supervisor.Supervisor }

func (t tree) Names() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, h := range t.Hosts() {
			if !yield(h.Name(), h.Group()) {
				return
			}
		}
	}
}

func (t tree) Host(name string) (Host, error) {
	h, err := t.Supervisor.Host(name)
	if err != nil {
		return nil, err
	}
	if m := (member{h, t.Supervisor}); attach.RuleOf(h.Spec()).Instances != attach.Shared {
		return pattern{m}, nil
	}
	return member{h, t.Supervisor}, nil
}

func (t tree) Instances(name string) (any Host, names []string) {
	all := t.Supervisor.Instances(name)
	if len(all) == 0 {
		return nil, nil
	}
	for _, h := range all {
		names = append(names, h.Name())
	}
	return instances{member{all[0], t.Supervisor}, name}, names
}

// instances are some hosts that can be called as one.
type instances struct {
	member // the first
	name   string
}

// one calls f with the host whose turn it is.
func (i instances) one(f func(member)) error {
	h, release, err := i.sup.Instance(i.name)
	if err != nil {
		return err
	}
	defer release()
	f(member{h, i.sup})
	return nil
}

func (i instances) Call(ctx context.Context, c Call) (out codec.Raw, err error) {
	if none := i.one(func(m member) { out, err = m.Call(ctx, c) }); none != nil {
		return nil, none
	}
	return out, err
}

func (i instances) Notify(ctx context.Context, method string, params codec.Raw) (err error) {
	if none := i.one(func(m member) { err = m.Notify(ctx, method, params) }); none != nil {
		return none
	}
	return err
}

func (i instances) Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		if err := i.one(func(m member) { m.Stream(ctx, c)(yield) }); err != nil {
			yield(nil, err)
		}
	}
}

// pattern is a host that does not run itself: programs that attach get instances of it, and
// those of a template are called, too.
type pattern struct{ member }

func (p pattern) notRun() error {
	message := fmt.Sprintf("host %q does not run itself: programs that attach get instances of it; name one of them, such as %s@1", p.Name(), p.Name())
	if attach.RuleOf(p.Spec()).Instances == attach.PerKey {
		message = fmt.Sprintf("%q is a template, and runs for keys alone: name one with --key, or one of its instances, such as %s@KEY", p.Name(), p.Name())
	}
	return &Error{Class: Invalid, Host: p.Name(), Message: message}
}

// one calls f with the instance of the key that ctx has.
func (p pattern) one(ctx context.Context, f func(member)) error {
	key, vars, has := attach.KeyOf(ctx)
	if !has {
		return p.notRun()
	}
	h, release, err := attach.Instance(ctx, p.sup, p.Name(), key, vars)
	if err != nil {
		return err
	}
	defer release()
	f(member{h, p.sup})
	return nil
}

func (p pattern) Start(context.Context) error   { return p.notRun() }
func (p pattern) Restart(context.Context) error { return p.notRun() }

func (p pattern) Call(ctx context.Context, c Call) (out codec.Raw, err error) {
	if none := p.one(ctx, func(m member) { out, err = m.Call(ctx, c) }); none != nil {
		return nil, none
	}
	return out, err
}

func (p pattern) Notify(ctx context.Context, method string, params codec.Raw) (err error) {
	if none := p.one(ctx, func(m member) { err = m.Notify(ctx, method, params) }); none != nil {
		return none
	}
	return err
}

func (p pattern) Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		if err := p.one(ctx, func(m member) { m.Stream(ctx, c)(yield) }); err != nil {
			yield(nil, err)
		}
	}
}

func (p pattern) Refused() error {
	if err := p.member.Refused(); errors.Is(err, supervisor.ErrStopped) {
		return err
	}
	return nil
}

type member struct {
	*supervisor.Host
	sup *supervisor.Supervisor
}

func (m member) Refused() error {
	if attach.DoorOf(m.Host) != nil {
		return nil // the door tells programs what the host can do at the time
	}
	return attach.Refused(m.Status())
}

func (m member) AttachProtocols() (names []string) {
	for _, p := range attach.ProtocolsOf(m.Host) {
		names = append(names, p.Name())
	}
	return names
}

func (m member) Silent() bool { return attach.RuleOf(m.Spec()).Silent }

func (m member) MaxMessage() int { return m.Spec().Limits.WithDefaults().Frame }

func (m member) Attach(ctx context.Context, rw io.ReadWriteCloser) error {
	return m.sup.Attach(ctx, m.Name(), rw)
}

func (m member) Inspect(ctx context.Context) (*supervisor.Inspection, error) {
	return m.sup.Inspect(ctx, m.Name())
}

func (m member) Profile(ctx context.Context, d time.Duration, w io.Writer) error {
	return m.sup.Profile(ctx, m.Name(), d, w)
}

func (m member) HeapSnapshot(ctx context.Context, w io.Writer) error {
	return m.sup.HeapSnapshot(ctx, m.Name(), w)
}

func (m member) Call(ctx context.Context, c Call) (codec.Raw, error) {
	var out codec.Raw
	err := m.Host.Call(ctx, c.Method, c.Params, &out, c.options()...)
	return out, err
}

func (m member) Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error] {
	return m.Host.Stream(ctx, c.Method, c.Params, c.options()...)
}

func (m member) Notify(ctx context.Context, method string, params codec.Raw) error {
	return m.Host.Notify(ctx, method, params)
}

func (c Call) options() []supervisor.CallOption {
	var opts []supervisor.CallOption
	if c.Timeout > 0 {
		opts = append(opts, supervisor.Timeout(c.Timeout))
	}
	if c.Idempotent {
		opts = append(opts, supervisor.Idempotent())
	}
	if c.Trace != (codec.Trace{}) {
		opts = append(opts, actors.Trace(c.Trace.Parent, c.Trace.State))
	}
	return opts
}
