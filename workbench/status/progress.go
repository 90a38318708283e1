package status

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// progress is a progress that is running.
type progress struct {
	Progress
	handle  int     // of the host
	percent float64 // what Percent points to has not changed since it was returned
	told    bool    // an event has told that it began
}

// state returns a copy that does not change.
func (p *progress) state() Progress {
	out := p.Progress
	if p.Percent != nil {
		percent := p.percent
		out.Percent = &percent
	}
	return out
}

// locations are the places of VS Code's window that it has numbers for.
var locations = map[string]string{"1": "explorer", "3": "scm", "5": "extensions", "10": "window", "15": "notification", "20": "dialog"}

// start answers $startProgress: the handle, and options. Handles of a host are unique.
func (s *Service) start(c *workbench.Call) (any, error) {
	var handle int
	var o struct {
		Location    json.RawMessage // a number, or the id of a view
		Title       string
		Source      any
		Cancellable bool
	}
	var extension string
	if err := c.Args(&handle, &o, &extension); err != nil {
		return nil, err
	}
	var view string
	if json.Unmarshal(o.Location, &view) != nil {
		if view = locations[string(o.Location)]; view == "" {
			view = "other"
		}
	}
	if source, ok := o.Source.(map[string]any); ok { // the release that does not tell the extension tells its source
		if id, ok := source["id"].(string); ok {
			extension = id
		}
	}
	p := &progress{handle: handle, Progress: Progress{
		ID: strings.ToLower(rand.Text()[:8]), Host: c.Host.Name(), Extension: line(extension), Title: line(o.Title), Location: line(view),
		Started: time.Now(), Cancelable: o.Cancellable,
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.of(p.Host)
	if len(on.running) >= maxProgress {
		return nil, workbench.Invalid("window.withProgress: the host has %d, which is the limit", maxProgress)
	}
	s.ended(on, handle, "")
	on.running[handle], s.byID[p.ID] = p, p
	on.wake(s)
	s.tell()
	return nil, nil
}

// report answers $progressReport: the handle, and a step.
func (s *Service) report(c *workbench.Call) (any, error) {
	var handle int
	var step struct {
		Message   string
		Increment *float64
	}
	if err := c.Args(&handle, &step); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(c.Host.Name()).running[handle]
	if p == nil {
		return nil, nil
	}
	if step.Message != "" {
		p.Message = line(step.Message)
	}
	if step.Increment != nil {
		p.percent = min(max(p.percent+*step.Increment, 0), 100)
		p.Percent = &p.percent
	}
	s.tell()
	return nil, nil
}

// end answers $progressEnd.
func (s *Service) end(c *workbench.Call) (any, error) {
	var handle int
	if err := c.Args(&handle); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(s.of(c.Host.Name()), handle, "")
	return nil, nil
}

// ended removes a progress, if it is running. The caller must hold mu.
func (s *Service) ended(on *shown, handle int, why string) {
	p := on.running[handle]
	if p == nil {
		return
	}
	delete(on.running, handle)
	delete(s.byID, p.ID)
	if p.told {
		if why == "" && p.Canceled {
			why = ", canceled"
		}
		s.opt.Report(Event{p.Host, true, fmt.Sprintf("%s: ended after %v%s", p.name(), time.Since(p.Started).Round(time.Millisecond), why)})
	}
	s.tell()
}

// name is how events name a progress.
func (p *progress) name() string {
	switch {
	case p.Title == "" && p.Message == "":
		return orUnknown(p.Extension) + " has a progress"
	case p.Title == "":
		return fmt.Sprintf("%s has the progress %q", orUnknown(p.Extension), p.Message)
	}
	return fmt.Sprintf("%s has the progress %q", orUnknown(p.Extension), p.Title)
}

// orUnknown returns the name of an extension for events.
func orUnknown(extension string) string {
	if extension == "" {
		return "an extension"
	}
	return extension
}

// tell tells the listeners that some progress has changed. The caller must hold mu.
func (s *Service) tell() {
	for _, changed := range s.changed {
		changed()
	}
}

// Cancel cancels a progress, as a user does with its button. It runs until the extension ends it. The
// error is [ErrNoProgress] or [ErrNotCancelable].
func (s *Service) Cancel(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byID[id]
	switch {
	case p == nil:
		return fmt.Errorf("%w: %q", ErrNoProgress, id)
	case !p.Cancelable:
		return fmt.Errorf("%w: %q", ErrNotCancelable, id)
	}
	p.Canceled = true
	if h := s.hosts[p.Host]; h != nil {
		h.Tell("ExtHostProgress.$acceptProgressCanceled", workbench.Params(p.handle))
	}
	s.tell()
	return nil
}
