package questions

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// methodBegins is how a host reports that it begins to activate an extension. It goes before all that
// the code of the extension sends.
const methodBegins = "MainThreadExtensionService.$onWillActivateExtension"

// begun is which extensions a life has begun to activate.
type begun struct {
	life uint64
	only string // its id; "" if there are several, or if that is not known
}

// Watch returns an interceptor that learns which extensions run in a host: VS Code tells who asks for
// messages alone, and other questions are those of the only extension that runs. missed is the life
// that may have begun to activate extensions before the interceptor is added; 0: none has.
func (s *Service) Watch(host string, missed uint64) *actors.Interceptor {
	s.mu.Lock()
	delete(s.begun, host) // of another host with its name
	if missed > 0 {
		s.begun[host] = &begun{life: missed}
	}
	s.mu.Unlock()
	return &actors.Interceptor{
		Name: "questions", Stage: actors.StageWatch,
		Inbound: func(life uint64, m *codec.Message) (v actors.Verdict) {
			if m.Kind == codec.Request && m.Method == methodBegins {
				s.begins(host, life, m.Params)
			}
			return v
		},
	}
}

// begins takes a report of the beginning of an activation.
func (s *Service) begins(host string, life uint64, params codec.Raw) {
	var args []json.RawMessage
	id := ""
	if json.Unmarshal(params, &args) == nil && len(args) > 0 {
		id = (&source{Identifier: args[0]}).id()
	}
	if len(id) > maxText {
		id = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := s.begun[host]; {
	case b == nil || b.life < life:
		s.begun[host] = &begun{life, id}
	case b.life == life && b.only != id:
		b.only = ""
	}
}

// asker returns the id of the only extension that can have made a call; "" if there are several. The
// caller must hold mu.
func (s *Service) asker(c *workbench.Call) string {
	if b := s.begun[c.Host.Name()]; b != nil && b.life == c.Life {
		return b.only
	}
	return ""
}

// asking returns a method that gets the id of [Service.asker] as it is when the call comes.
func (s *Service) asking(do func(ctx context.Context, c *workbench.Call, asker string) (any, error)) workbench.Method {
	return workbench.Method{Begin: func(c *workbench.Call) func(context.Context) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		by := s.asker(c)
		return func(ctx context.Context) (any, error) { return do(ctx, c, by) }
	}}
}
