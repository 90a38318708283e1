package questions

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// choice is an item of a list. A separator has no handle.
type choice struct {
	Label  string
	Handle *int
	Type   string
}

// choices returns the items that can be chosen.
func choices(all []choice) []choice {
	return slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return c.Handle == nil || c.Type == "separator" })
}

func labels(all []choice) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.Label
	}
	return out
}

// handles returns the handles of the items with labels.
func handles(all []choice, values []string) ([]int, error) {
	names := labels(all)
	out := make([]int, len(values))
	for n, v := range values {
		i, err := chosen(names, v)
		if err != nil {
			return nil, err
		}
		out[n] = *all[i].Handle
	}
	return out, nil
}

// list is a list of showQuickPick that waits for its items, which the host sends later.
type list struct {
	once  sync.Once
	ready chan struct{}
	items []choice // once ready is closed
	why   string   // instead of items: why the list did not come
}

// end ends the wait: with items if why is "".
func (l *list) end(why string, items ...choice) {
	l.once.Do(func() {
		l.items, l.why = items, why
		close(l.ready)
	})
}

// pick answers $show of window.showQuickPick: the number of the picker and its options.
func (s *Service) pick(c *workbench.Call) func(context.Context) (any, error) {
	var id int
	var a asked
	err := c.Args(&id, &a)
	s.mu.Lock()
	q := a.question(c.Host.Name(), s.asker(c), List, "the list")
	s.mu.Unlock()
	key, l := shownKey{c.Host.Name(), id}, &list{ready: make(chan struct{})}
	if err != nil {
		return func(context.Context) (any, error) { return nil, err }
	}
	if out, settled := s.atOnce(q); settled {
		return func(context.Context) (any, error) { return out.answer(), nil }
	}
	s.mu.Lock()
	s.lists[key] = l
	s.mu.Unlock()
	return func(ctx context.Context) (any, error) {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.lists[key] == l {
				delete(s.lists, key)
			}
		}()
		if !s.itemsOf(ctx, q, l) {
			return workbench.Undefined, nil
		}
		items := choices(l.items)
		q.items = func() []string { return labels(items) }
		q.check = func(_ context.Context, values []string) (any, error) {
			chosen, err := handles(items, values)
			if err != nil || q.many {
				return chosen, err
			}
			return chosen[0], nil
		}
		return s.resolve(ctx, q).answer(), nil
	}
}

// itemsOf waits for the items of a list. It reports false if the list was dismissed for lack of them.
func (s *Service) itemsOf(ctx context.Context, q *question, l *list) bool {
	late := time.NewTimer(s.opt.Wait)
	defer late.Stop()
	var why string
	select {
	case <-l.ready:
		if l.why == "" {
			return true
		}
		why = l.why
	case <-late.C:
		why = "because its items did not come in " + s.opt.Wait.String()
	case <-ctx.Done():
		why = withdrawn(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissal(q, why)
	return false
}

// setItems answers $setItems. A list that was dismissed has no use for them.
func (s *Service) setItems(c *workbench.Call) (any, error) {
	var id int
	var items []choice
	if err := c.Args(&id, &items); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lists[shownKey{c.Host.Name(), id}]; l != nil {
		l.end("", items...)
	}
	return nil, nil
}

// setError answers $setError: the items of a list could not be made.
func (s *Service) setError(c *workbench.Call) (any, error) {
	var id int
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lists[shownKey{c.Host.Name(), id}]; l != nil {
		l.end("because the extension could not make its items")
	}
	return nil, nil
}

// state is what an extension has set of its picker or input box.
type state struct {
	asked
	Type              string
	Items             []choice
	Busy              bool
	Step              int
	ValidationMessage string
	Severity          int
}

// told are the names of what is kept of it.
var told = []string{
	"type", "title", "placeholder", "prompt", "password", "canselectmany", "items", "busy", "step", "validationmessage", "severity",
}

// session is a picker or an input box of createQuickPick and createInputBox.
type session struct {
	asker   string                     // the id of its extension; "" if it is not known
	fields  map[string]json.RawMessage // by names in lower case; Service.mu
	now     state                      // Service.mu
	visible bool                       // Service.mu
	cancel  context.CancelFunc         // nil if it is not shown; Service.mu
	changed chan struct{}              // with a buffer of 1: now has changed
}

// hide ends what waits for an answer.
func (o *session) hide() {
	o.visible = false
	if o.cancel != nil {
		o.cancel()
		o.cancel = nil
	}
}

// set takes what an extension has changed. null means the default.
func (o *session) set(update map[string]json.RawMessage) error {
	changed := false
	for name, value := range update {
		name = strings.ToLower(name)
		if !slices.Contains(told, name) {
			continue
		}
		changed = true
		if o.fields[name] = value; string(value) == "null" {
			delete(o.fields, name)
		}
	}
	if !changed {
		return nil
	}
	raw, err := json.Marshal(o.fields)
	if err != nil {
		return err
	}
	var now state
	if err := json.Unmarshal(raw, &now); err != nil {
		return workbench.Invalid("a picker of an extension: %v", err)
	}
	o.now = now
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return nil
}

// maxSessions bounds the pickers and input boxes of extensions that are known.
const maxSessions = 1000

// update answers $createOrUpdate: what has changed of a picker or an input box.
func (s *Service) update(c *workbench.Call) (any, error) {
	var change map[string]json.RawMessage
	var p struct {
		ID      int
		Visible *bool
	}
	if err := c.Args(&change); err != nil {
		return nil, err
	}
	if err := c.Args(&p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shownKey{c.Host.Name(), p.ID}
	o := s.sessions[key]
	if o == nil {
		if len(s.sessions) >= maxSessions {
			return nil, workbench.NotSupported("window.createQuickPick", "1000 pickers and input boxes of extensions exist; dispose of some")
		}
		o = &session{asker: s.asker(c), fields: map[string]json.RawMessage{}, changed: make(chan struct{}, 1)}
		s.sessions[key] = o
	}
	if err := o.set(maps.Clone(change)); err != nil {
		return nil, err
	}
	if p.Visible != nil && !*p.Visible {
		o.hide()
	}
	if p.Visible == nil || !*p.Visible || o.visible || s.hosts[key.host] == nil {
		return nil, nil
	}
	o.visible = true
	show := &showing{s, o, s.hosts[key.host], p.ID}
	if q := show.question(); !s.opt.Ask && s.rule(q) == nil && !o.now.Busy {
		s.dismissal(q, "because there is no user")
		show.h.Tell("ExtHostQuickOpen.$onDidHide", workbench.Params(p.ID))
		return nil, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	s.running.Go(func() {
		defer cancel()
		show.run(ctx)
	})
	return nil, nil
}

// dispose answers $dispose.
func (s *Service) dispose(c *workbench.Call) (any, error) {
	var id int
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shownKey{c.Host.Name(), id}
	if o := s.sessions[key]; o != nil {
		o.hide()
		delete(s.sessions, key)
	}
	return nil, nil
}
