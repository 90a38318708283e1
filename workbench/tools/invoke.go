package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/workbench"
)

// Progress is what a tool reports while it runs.
type Progress struct {
	Message string
	// Done is the part that is done, from 0 to 1; nil: not known.
	Done *float64
}

// Invoke invokes a tool for the program. input is JSON that fits the schema of the tool. The result
// has the list "content" of parts; see vscode.LanguageModelToolResult. progress is called with what
// the tool reports, one report after the other; it must not block, and may be nil. Errors are those
// of [workbench.Host.Call], and a *codec.Error if there is no such tool.
func (s *Service) Invoke(ctx context.Context, id string, input json.RawMessage, progress func(Progress)) (json.RawMessage, error) {
	h, err := s.implementation(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last++
	name := fmt.Sprintf("hostsup-%d", s.last)
	if progress != nil {
		s.progress[name] = &follower{report: progress}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.progress, name)
	}()
	return call(ctx, h, map[string]any{"toolId": id, "callId": name, "parameters": input})
}

// follower follows an invocation of the program.
type follower struct {
	report func(Progress)
	done   float64
}

// progressed answers $acceptToolProgress: the id of the invocation, and a step.
func (s *Service) progressed(c *workbench.Call) (any, error) {
	var id string
	var step struct {
		Message   json.RawMessage // a text, or an object with one
		Increment *float64        // of Total
		Total     float64
		Progress  *float64 // since the start, from 0 to 1, of later releases
	}
	if err := c.Args(&id, &step); err != nil {
		return nil, err
	}
	p := Progress{}
	var markdown struct{ Value string }
	if json.Unmarshal(step.Message, &p.Message) != nil && json.Unmarshal(step.Message, &markdown) == nil {
		p.Message = markdown.Value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.progress[id]
	if f == nil {
		return nil, nil // an extension invokes the tool, and extensions are told no progress
	}
	switch {
	case step.Progress != nil:
		f.done = *step.Progress
	case step.Increment != nil && step.Total > 0:
		f.done += *step.Increment / step.Total
	default:
		f.report(p)
		return nil, nil
	}
	p.Done = new(min(max(f.done, 0), 1))
	f.report(p)
	return nil, nil
}
