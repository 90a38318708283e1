package hosted

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/commands"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

// viewsOf returns the trees of the extensions of a host and those beside it, and adds their commands to
// those of the editor.
func (s *services) viewsOf(activate func(context.Context, string) error, own *commands.Service) *views.Service {
	trees := views.New(views.Options{Activate: activate, Redact: s.tree.Redact, Execute: executor(own)})
	own.Find(trees.Command)
	return trees
}

// scmOf returns the source control of the extensions of a host and those beside it.
func (s *services) scmOf(own *commands.Service, all *fileSystems) *scm.Service {
	read := func(ctx context.Context, h *workbench.Host, uri workbench.URI) ([]byte, error) {
		return all.For(h.Guard()).ReadFile(ctx, uri)
	}
	return scm.New(scm.Options{Redact: s.tree.Redact, Execute: executor(own), Read: read})
}

// testsOf returns the tests of the extensions of a host and those beside it.
func (s *services) testsOf(start func(context.Context) error) *tests.Service {
	return tests.New(tests.Options{Redact: s.tree.Redact, Start: start})
}

// executor returns a function that executes a command that an extension has put into a window: one of the
// editor, or one of the extensions.
func executor(own *commands.Service) func(context.Context, *workbench.Host, string, json.RawMessage) error {
	return func(ctx context.Context, h *workbench.Host, command string, args json.RawMessage) error {
		if own.Has(command) {
			call := workbench.NewCall(h.Ref(), h.Life(), command, nil)
			call.Guard = h.Guard()
			_, err := own.Execute(ctx, call, command, args)
			return err
		}
		params := []any{command}
		var list []json.RawMessage
		if len(args) > 0 {
			if err := json.Unmarshal(args, &list); err != nil {
				return workbench.Invalid("the command %s: a list of arguments expected: %v", command, err)
			}
		}
		for _, arg := range list {
			params = append(params, arg)
		}
		return h.Call(ctx, methodCommand, workbench.Params(params...), nil)
	}
}
