package status

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// entryKey names an entry of a host: by its kind and by the handle or id that the host has given.
type entryKey struct {
	kind string
	id   any // comparable
}

// entry is an entry that is shown.
type entry struct {
	Entry
	told  string // the text of the last event
	dirty bool   // it is in the list of those that are to be told
}

// setEntry answers $setEntry: the id of the entry and that for the user's settings, the extension, the
// name, the text, the tooltip, whether an extension provides the tooltip when it is shown, the command,
// and the colors of the text and of the background.
func (s *Service) setEntry(c *workbench.Call) (any, error) {
	var id, extension, name, text string
	var command *struct{ ID string }
	var background *struct{ ID string }
	if err := c.Args(&id, nil, &extension, &name, &text, nil, nil, &command, nil, &background); err != nil {
		return nil, err
	}
	e := Entry{
		Host: c.Host.Name(), Extension: line(extension), Kind: Bar, Name: line(name), Text: line(text),
		Detail: tooltip(c.Raw(5)), Busy: strings.Contains(text, "~spin)"),
	}
	if command != nil {
		e.Command = line(command.ID)
	}
	if background != nil {
		e.Severity = map[string]string{"statusBarItem.errorBackground": "error", "statusBarItem.warningBackground": "warning"}[background.ID]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := entryKey{Bar, clip(id)}
	if on := s.of(e.Host); on.entries[key] == nil && len(on.entries) >= maxEntries {
		return nil, workbench.Invalid("window.createStatusBarItem: the host shows %d entries, which is the limit", maxEntries)
	}
	s.set(key, e)
	return nil, nil
}

// clip bounds an id, which is not shown.
func clip(id string) string { return id[:min(len(id), maxText)] }

// tooltip returns the text of a tooltip: a text, or one in Markdown.
func tooltip(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return line(text)
	}
	var markdown struct{ Value string }
	_ = json.Unmarshal(raw, &markdown) // another form has no text
	return line(markdown.Value)
}

// set shows an entry. The caller must hold mu.
func (s *Service) set(key entryKey, e Entry) {
	on := s.of(e.Host)
	was := on.entries[key]
	if was == nil {
		was = &entry{}
		on.entries[key] = was
	}
	if e.Since = was.Since; e.Text != was.Text || e.Since.IsZero() {
		e.Since = time.Now()
	}
	was.Entry = e
	if e.Text != "" && e.Text != was.told && !was.dirty {
		was.dirty = true
		on.dirty = append(on.dirty, key)
		on.wake(s)
	}
}

// disposeEntry answers $disposeEntry.
func (s *Service) disposeEntry(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(c.Host.Name()).remove(entryKey{Bar, clip(id)})
	return nil, nil
}

// State returns what the extensions of a host show now; of all hosts if host is "".
func (s *Service) State(host string) State {
	out := State{Entries: []Entry{}, Progress: s.Running(host)}
	s.mu.Lock()
	for name, on := range s.shown {
		if host != "" && name != host {
			continue
		}
		for _, e := range on.entries {
			out.Entries = append(out.Entries, e.Entry)
		}
	}
	s.mu.Unlock()
	for i := range out.Entries {
		e := &out.Entries[i]
		s.redact(&e.Text, &e.Detail)
	}
	slices.SortFunc(out.Entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Extension, b.Extension),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Text, b.Text))
	})
	return out
}

// Running returns the progress that is running in a host, oldest first; in all hosts if host is "".
func (s *Service) Running(host string) []Progress {
	out := []Progress{}
	s.mu.Lock()
	for name, on := range s.shown {
		if host != "" && name != host {
			continue
		}
		for _, p := range on.running {
			out = append(out, p.state())
		}
	}
	s.mu.Unlock()
	for i := range out {
		s.redact(&out[i].Title, &out[i].Message)
	}
	return inOrder(out)
}

// inOrder sorts progress, oldest first.
func inOrder(list []Progress) []Progress {
	slices.SortFunc(list, func(a, b Progress) int { return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID)) })
	return list
}

func (s *Service) redact(texts ...*string) {
	for _, text := range texts {
		*text = s.opt.Redact(*text)
	}
}
