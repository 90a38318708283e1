package supervisor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/extensions"
)

// Extensions manages the extensions of hosts. Its methods are those of [Supervisor];
// package extensions/hosted implements it.
type Extensions interface {
	Activate(ctx context.Context, host, event string) error
	Extensions(host string) ([]extensions.Status, error)
	SetExtension(ctx context.Context, host, id string, verb extensions.Verb) error
	RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error)
	AskLanguage(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error)
	// IsApart reports whether a host was added for an isolated extension.
	IsApart(host string) bool
}

// extensions returns the part of the tree that manages extensions.
func (s *Supervisor) extensions(host string) (Extensions, error) {
	for _, p := range s.parts {
		if p.Opened.Extensions != nil {
			return p.Opened.Extensions, nil
		}
	}
	if host == "" {
		return nil, fmt.Errorf("extensions: %w", ErrNoPart)
	}
	if _, err := s.Host(host); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %q", extensions.ErrNoExtensions, host)
}

// Activate requests an activation event, like "onCommand:hello.greet", from a host
// ("" for every host with extensions) and waits until the extensions that declare the
// event are active or have failed, or are still being activated after six times their Startup,
// 1 minute by default. An event that no extension declares starts nothing.
// Errors: *service.ActivationError of package extensions/service, which lists each
// extension that is not active, [extensions.ErrNoExtensions], ErrNoHost, ErrClosed, or
// ctx's error.
func (s *Supervisor) Activate(ctx context.Context, host, event string) error {
	e, err := s.extensions(host)
	if err != nil {
		return err
	}
	return e.Activate(ctx, host, event)
}

// Extensions returns the status of the extensions of a host ("" for all hosts).
// Errors: [extensions.ErrNoExtensions], ErrNoHost, ErrClosed.
func (s *Supervisor) Extensions(host string) ([]extensions.Status, error) {
	e, err := s.extensions(host)
	if err != nil {
		return nil, err
	}
	return e.Extensions(host)
}

// SetExtension applies an operation to an extension of a host ("" for all hosts that
// have the extension) and returns when it is done. Errors: [extensions.ErrUnknown],
// [extensions.ErrVerb], [extensions.ErrNoExtensions], ErrNoHost, ErrClosed, or ctx's
// error.
func (s *Supervisor) SetExtension(ctx context.Context, host, id string, verb extensions.Verb) error {
	e, err := s.extensions(host)
	if err != nil {
		return err
	}
	return e.SetExtension(ctx, host, id, verb)
}

// RescanExtensions scans the folders with extensions of a host ("" for all hosts that
// have some) again and applies the differences. It returns them when the affected hosts
// have been updated or restarted. Errors: [extensions.ErrNoFolders],
// [extensions.ErrNoExtensions], ErrNoHost, ErrClosed, or ctx's error.
func (s *Supervisor) RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error) {
	e, err := s.extensions(host)
	if err != nil {
		return nil, err
	}
	return e.RescanExtensions(ctx, host)
}

// AskLanguage asks the extensions of VS Code about a document, such as what is defined at
// a position: those of a host and the hosts beside it, or if host is "" of the first host
// whose extensions provide the feature. query is a Query of package workbench/language as
// JSON, or one with the feature "diagnostics", which also has "waitSeconds": how long the
// extensions may take to find a problem (0: 5 s). The result is JSON of the type that
// package names for the feature. Errors: [extensions.ErrNoProvider],
// [extensions.ErrNoExtensions], ErrNoHost, ErrCrashed when a host has ended twice
// meanwhile, those of the document and the providers, or ctx's error.
func (s *Supervisor) AskLanguage(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error) {
	e, err := s.extensions(host)
	if err != nil {
		return nil, err
	}
	return e.AskLanguage(ctx, host, query)
}

// sharer is a protocol whose hosts take an argument that makes them share their stored
// data with the hosts of isolated extensions.
type sharer interface {
	Shared(command []string) []string
}

// sharing makes a host of such a protocol store the data of a workspace in the same
// folder in each of its lives, like the hosts of its isolated extensions do at the same
// time. VS Code's own lock would lead the life after a killed one to another folder: the
// lock names a process by its id, and in a pid namespace the next life has the same id.
// Here no life begins before the previous one has ended.
func sharing(h HostSpec) HostSpec {
	if p, ok := h.Protocol.(sharer); ok {
		h.Command = p.Shared(h.Command)
	}
	return h
}
