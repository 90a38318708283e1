// Package commands has the commands of the editor itself, which extensions execute when no extension
// has them.
package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

const (
	methodExecute = "MainThreadCommands.$executeCommand"
	methodList    = "MainThreadCommands.$getCommands"
)

// Service executes commands, and lists them. It must be made with [New].
type Service struct {
	commands map[string]workbench.Method
	find     []func(name string) (workbench.Method, bool) // of commands that come and go
}

// New returns a service with commands by their names. A method gets the arguments of the command as
// its own. setContext is always there and has no effect, because there is no window that depends on a
// context. If two lists have the same name, the later one wins.
func New(lists ...map[string]workbench.Method) *Service {
	context := workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, nil }}
	// The host itself makes the second of the first.
	s := &Service{commands: map[string]workbench.Method{"setContext": context, "_setContext": context}}
	for _, list := range lists {
		maps.Copy(s.commands, list)
	}
	return s
}

// Find adds commands that come and go, such as those of views, which are not listed. find returns one by
// its name; it must not block. Find must be called before the service is used.
func (s *Service) Find(find func(name string) (workbench.Method, bool)) {
	s.find = append(s.find, find)
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	names := slices.Sorted(maps.Keys(s.commands))
	return map[string]workbench.Method{
		methodExecute: {Do: s.execute},
		methodList:    {Now: func(*workbench.Call) (any, error) { return names, nil }},
	}
}

func (s *Service) execute(ctx context.Context, c *workbench.Call) (any, error) {
	var name string
	if err := c.Args(&name); err != nil {
		return nil, err
	}
	return s.Execute(ctx, c, name, c.Raw(1))
}

// Has reports whether the editor has a command.
func (s *Service) Has(name string) bool {
	_, ok := s.method(name)
	return ok
}

// Execute executes a command of the editor for the host, the life and the guard of a call. args is a JSON
// array; empty: without arguments. The error of a command that is not there has the name
// [codec.NameMethodNotFound] or that of [workbench.NotSupported].
func (s *Service) Execute(ctx context.Context, c *workbench.Call, name string, args json.RawMessage) (any, error) {
	m, ok := s.method(name)
	if !ok {
		return nil, unknown(name)
	}
	if len(args) == 0 {
		args = json.RawMessage("[]")
	}
	call := workbench.NewCall(c.Host, c.Life, name, codec.Raw(args))
	call.Guard = c.Guard
	if m.Do != nil {
		return m.Do(ctx, call)
	}
	return m.Now(call)
}

func (s *Service) method(name string) (m workbench.Method, ok bool) {
	if m, ok = s.commands[name]; ok {
		return m, true
	}
	for _, find := range s.find {
		if m, ok = find(name); ok {
			return m, true
		}
	}
	return m, false
}

// unknown returns the error for a command that is not there. One of VS Code itself is not supported,
// so that an extension does not take for done what was not.
func unknown(name string) error {
	prefix, _, dotted := strings.Cut(name, ".")
	if strings.HasPrefix(name, "_") || dotted && (prefix == "vscode" || prefix == "workbench" || prefix == "editor") {
		return workbench.NotSupported("the command "+name, "there is no window")
	}
	return &codec.Error{Name: codec.NameMethodNotFound, Message: fmt.Sprintf("command '%s' not found", name)}
}
