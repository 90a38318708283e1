// Package controltest is a supervisor without processes, for tests of clients of a
// control socket.
package controltest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/views"
)

// Supervisor is a [control.Supervisor] that returns the values of its fields. They
// must be set before it is served.
type Supervisor struct {
	Info    supervisor.Info
	Groups  []record.GroupStatus
	Members []*Host
	Parts   []supervisor.PartStatus
	History []supervisor.Event
	Live    chan supervisor.Event // later events, for followers; closed: the supervisor has stopped
	Reports []record.CrashReport
	Ended   chan struct{} // closed: it has ended

	Units      []extensions.Status                                 // the extensions of all hosts
	OnActivate func(ctx context.Context, host, event string) error // nil: succeeds
	OnRescan   func(ctx context.Context, host string) ([]extensions.Difference, error)
	Channeled  map[extensions.Channel]*Host // output channels of all hosts, and what has their lines
	// OnLanguage answers questions about documents; without it no extension provides anything.
	OnLanguage func(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error)
	Asking     []questions.Question // open questions of all hosts
	// OnAnswer answers one of Asking; without it every answer does.
	OnAnswer func(id string, values []string, dismiss bool) error
	Shown    status.State // what the extensions of all hosts show
	// OnCancel cancels a progress of Shown that can be canceled; without it every one is.
	OnCancel func(id string) error
	Sources  []scm.Control // the source controls of all hosts
	// OnCommit writes and accepts the message of one of Sources; without it everything is done.
	OnCommit func(id string, message *string, accept bool) error
	Tests    Tests               // those of extensions, with their results
	Files    Files               // what extensions tell of files
	Trees    []views.Tree        // what there is to read of the views of all hosts
	OnRead   func(q views.Query) // is called when one of Trees is read
	// OnAct does something in one of Trees; without it everything is done.
	OnAct func(view string, action views.Action, items []string) error
	OnSet func(ctx context.Context, host, id string, verb extensions.Verb) error
}

var _ control.Supervisor = (*Supervisor)(nil)

// Names yields those of Members.
func (s *Supervisor) Names() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, h := range s.Members {
			st := h.peek()
			if !yield(st.Name, st.Group) {
				return
			}
		}
	}
}

// StatusOf returns the values of the fields.
func (s *Supervisor) StatusOf(pick func(host, group string) bool) supervisor.Status {
	st := supervisor.Status{Supervisor: s.Info, Groups: s.Groups, Parts: s.Parts}
	for _, h := range s.Members {
		if now := h.peek(); pick(now.Name, now.Group) {
			st.Hosts = append(st.Hosts, h.Status())
		}
	}
	return st
}

// Done returns Ended.
func (s *Supervisor) Done() <-chan struct{} { return s.Ended }

// Host finds one of Members.
func (s *Supervisor) Host(name string) (control.Host, error) {
	for _, h := range s.Members {
		if h.peek().Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", supervisor.ErrNoHost, name)
}

// Events yields History after a number, then the events from Live.
func (s *Supervisor) Events(ctx context.Context, since uint64, follow bool) iter.Seq[supervisor.Event] {
	past := slices.DeleteFunc(slices.Clone(s.History), func(e supervisor.Event) bool { return since > 0 && e.Seq <= since })
	return follower(ctx, past, s.Live, follow)
}

// Crashes returns Reports.
func (s *Supervisor) Crashes(host string) ([]record.CrashReport, error) {
	var out []record.CrashReport
	for _, c := range s.Reports {
		if host == "" || c.Host == host {
			out = append(out, c)
		}
	}
	return out, nil
}

// Crash finds one of Reports.
func (s *Supervisor) Crash(id string) (*record.CrashReport, error) {
	for _, c := range s.Reports {
		if c.ID == id {
			return &c, nil
		}
	}
	return nil, supervisor.ErrNoCrash
}

// Activate calls OnActivate.
func (s *Supervisor) Activate(ctx context.Context, host, event string) error {
	if err := s.hasExtensions(host); err != nil || s.OnActivate == nil {
		return err
	}
	return s.OnActivate(ctx, host, event)
}

// Extensions returns the host's elements of Units.
func (s *Supervisor) Extensions(host string) ([]extensions.Status, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	var out []extensions.Status
	for _, e := range s.Units {
		if host == "" || e.Host == host {
			out = append(out, e)
		}
	}
	return out, nil
}

// RescanExtensions calls OnRescan; without it there are no differences.
func (s *Supervisor) RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error) {
	if err := s.hasExtensions(host); err != nil || s.OnRescan == nil {
		return nil, err
	}
	return s.OnRescan(ctx, host)
}

// AskLanguage calls OnLanguage.
func (s *Supervisor) AskLanguage(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	if s.OnLanguage == nil {
		return nil, extensions.ErrNoProvider
	}
	return s.OnLanguage(ctx, host, query)
}

// Questions returns those of Asking.
func (s *Supervisor) Questions(host string) ([]questions.Question, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.Asking), func(q questions.Question) bool { return host != "" && q.Host != host }), nil
}

// AnswerQuestion calls OnAnswer for one of Asking.
func (s *Supervisor) AnswerQuestion(_ context.Context, id string, values []string, dismiss bool) error {
	if !slices.ContainsFunc(s.Asking, func(q questions.Question) bool { return q.ID == id }) {
		return fmt.Errorf("%w: %q", questions.ErrNoQuestion, id)
	}
	if s.OnAnswer == nil {
		return nil
	}
	return s.OnAnswer(id, values, dismiss)
}

// Activity returns Shown.
func (s *Supervisor) Activity(host string) (out status.State, err error) {
	if err := s.hasExtensions(host); err != nil {
		return out, err
	}
	return status.State{
		Entries:  slices.DeleteFunc(slices.Clone(s.Shown.Entries), func(e status.Entry) bool { return host != "" && e.Host != host }),
		Progress: slices.DeleteFunc(slices.Clone(s.Shown.Progress), func(p status.Progress) bool { return host != "" && p.Host != host }),
	}, nil
}

// CancelProgress accepts those in Shown that can be canceled.
func (s *Supervisor) CancelProgress(id string) error {
	i := slices.IndexFunc(s.Shown.Progress, func(p status.Progress) bool { return p.ID == id })
	switch {
	case i < 0:
		return fmt.Errorf("%w: %q", status.ErrNoProgress, id)
	case !s.Shown.Progress[i].Cancelable:
		return fmt.Errorf("%w: %q", status.ErrNotCancelable, id)
	case s.OnCancel == nil:
		return nil
	}
	return s.OnCancel(id)
}

// Views returns the views of Trees.
func (s *Supervisor) Views(host string) (out []views.View, err error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	for _, tree := range s.Trees {
		if host == "" || tree.View.Host == host {
			out = append(out, tree.View)
		}
	}
	return out, nil
}

// ReadView returns one of Trees, and for an item its parts alone.
func (s *Supervisor) ReadView(_ context.Context, q views.Query) (*views.Tree, error) {
	if err := s.hasExtensions(q.Host); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.Trees, func(t views.Tree) bool { return t.View.ID == q.View })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", views.ErrNoView, q.View)
	}
	if s.OnRead != nil {
		s.OnRead(q)
	}
	out := s.Trees[i]
	if q.Item == "" {
		out.Items = append([]views.Item{}, out.Items...)
		return &out, nil
	}
	for _, item := range out.Items {
		if item.Handle == q.Item {
			return &views.Tree{View: out.View, Item: &item, Items: append([]views.Item{}, item.Items...)}, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", views.ErrNoItem, q.Item)
}

// ActInView calls OnAct for an item of one of Trees.
func (s *Supervisor) ActInView(ctx context.Context, host, view string, action views.Action, items []string) error {
	for _, item := range append(items, "")[:max(len(items), 1)] {
		if _, err := s.ReadView(ctx, views.Query{Host: host, View: view, Item: item}); err != nil {
			return err
		}
	}
	if s.OnAct == nil {
		return nil
	}
	return s.OnAct(view, action, items)
}

// SourceControls returns Sources.
func (s *Supervisor) SourceControls(host string) ([]scm.Control, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.Sources), func(c scm.Control) bool { return host != "" && c.Host != host }), nil
}

// WriteSourceControl calls OnCommit for one of Sources.
func (s *Supervisor) WriteSourceControl(_ context.Context, id string, message *string, accept bool) error {
	switch {
	case !slices.ContainsFunc(s.Sources, func(c scm.Control) bool { return c.ID == id }):
		return fmt.Errorf("%w: %q", scm.ErrNoControl, id)
	case s.OnCommit == nil:
		return nil
	}
	return s.OnCommit(id, message, accept)
}

// SetExtension calls OnSet for one of Units.
func (s *Supervisor) SetExtension(ctx context.Context, host, id string, verb extensions.Verb) error {
	list, err := s.Extensions(host)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.ID == id && s.OnSet != nil {
			return s.OnSet(ctx, host, id, verb)
		}
		if e.ID == id {
			return nil
		}
	}
	return fmt.Errorf("%w: %q", extensions.ErrUnknown, id)
}

func (s *Supervisor) hasExtensions(host string) error {
	if host == "" {
		return nil
	}
	if _, err := s.Host(host); err != nil {
		return err
	}
	for _, e := range s.Units {
		if e.Host == host {
			return nil
		}
	}
	return fmt.Errorf("%w: %q", extensions.ErrNoExtensions, host)
}

// Channels returns the channels of Channeled, by name.
func (s *Supervisor) Channels(host string) ([]extensions.Channel, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(s.Channeled), func(a, b extensions.Channel) int { return strings.Compare(a.Name, b.Name) }), nil
}

// Channel returns a channel of Channeled by its name.
func (s *Supervisor) Channel(host, name string) (control.ChannelLog, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	for c, log := range s.Channeled {
		if c.Name == name {
			return log, nil
		}
	}
	return nil, fmt.Errorf("%w %q", extensions.ErrNoChannel, name)
}

// Instances returns nil: no host has instances.
func (s *Supervisor) Instances(string) (any control.Host, names []string) { return nil, nil }

func follower[T any](ctx context.Context, past []T, live <-chan T, follow bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range past {
			if !yield(v) {
				return
			}
		}
		for follow {
			select {
			case v, ok := <-live:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
