package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/text"
)

// maxOffers is how many commands that were offered to a client it can execute: the last ones.
const maxOffers = 10_000

// command is a command as a client gets it: the one of the server, with what it stands for.
type command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments"`
}

// commandName returns the command of the server. Editors have one table for the commands of all
// servers, so that it names the host.
func (s *Server) commandName() string { return "hostsup." + s.opt.Host }

type offer struct {
	Offer int `json:"offer"`
}

// command returns a command that an extension offers; nil for nil.
func (c *session) command(of *language.Command) *command {
	if of == nil || of.ID == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastOffer++
	c.offers[c.lastOffer] = *of
	delete(c.offers, c.lastOffer-maxOffers)
	return &command{of.Title, c.s.commandName(), []any{offer{c.lastOffer}}}
}

// which returns the command that a client wants to be executed: one that was offered to it, or one by
// its id, which must be allowed.
func (c *session) which(p *request) (language.Command, error) {
	args, id := p.Arguments, p.Command
	if id == c.s.commandName() && len(args) > 0 {
		var o offer
		if json.Unmarshal(args[0], &o) == nil && o.Offer > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			of, ok := c.offers[o.Offer]
			if !ok {
				return of, &codec.Error{Code: codeRequestFailed, Message: fmt.Sprintf("the command was offered too long ago: only the last %d are kept", maxOffers)}
			}
			return of, nil
		}
		if err := json.Unmarshal(args[0], &id); err != nil {
			return language.Command{}, &codec.Error{Code: codeInvalidParams, Message: "the id of a command expected as the first argument"}
		}
		args = args[1:]
	}
	if !c.s.opt.Allowed(id) {
		return language.Command{}, &codec.Error{Code: codeRequestFailed, Message: fmt.Sprintf(
			"the command %q is not allowed: serve \"lsp\" { commands } in the extensions of host %q lists those that clients can execute", id, c.s.opt.Host)}
	}
	return language.Command{ID: id, Arguments: args}, nil
}

// execute executes a command. What it changes in documents is sent to the client before the answer.
func (c *session) execute(ctx context.Context, p *request, report func(status.Update)) (any, error) {
	of, err := c.which(p)
	if err != nil {
		return nil, err
	}
	before := c.s.dirty()
	out, err := c.s.opt.Execute(ctx, of.ID, of.Arguments, report)
	if err != nil {
		return nil, err
	}
	for key, uri := range c.s.dirty() {
		if _, ok := before[key]; ok {
			continue
		}
		if err := c.hand(key, uri, of.ID); err != nil {
			return nil, err
		}
	}
	var result any
	if err := workbench.Decode(out, &result); err != nil {
		return nil, err
	}
	return result, nil
}

// dirty returns the documents that have changes to save, and which no client has open.
func (s *Server) dirty() map[string]workbench.URI {
	out := map[string]workbench.URI{}
	for _, uri := range s.opt.Documents.Documents() {
		d := s.opt.Documents.Find(uri)
		if d == nil {
			continue
		}
		if key := uri.String(); d.Dirty() && !s.hasView(key) {
			out[key] = uri
		}
		d.Close()
	}
	return out
}

func (s *Server) hasView(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.views[key]) > 0
}

// hand sends the changes of a document that no client has open to the client, which is to open it. The
// document of the workbench gives them up, so that they are in one place.
func (c *session) hand(key string, uri workbench.URI, by string) error {
	path, ok := uri.FilePath()
	d := c.s.opt.Documents.Find(uri)
	if !ok || d == nil {
		return nil
	}
	defer d.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("command %s has changed %s: %w", by, path, err)
	}
	now, _ := d.Text()
	changes := difference(text.New(string(data), now.EOL()), now)
	edit := map[string]any{"changes": map[string]any{key: changes}}
	if c.caps.Workspace.WorkspaceEdit.DocumentChanges {
		edit = map[string]any{"documentChanges": []any{documentEdit{documentID{key, nil}, changes}}}
	}
	if err := c.applyEdit(by, edit); err != nil {
		return fmt.Errorf("command %s has changed %s: %w", by, path, err)
	}
	if c.s.hasView(key) {
		return nil // the client has opened it
	}
	return d.Discard()
}

// applyEdit asks the client to make changes.
func (c *session) applyEdit(label string, edit any) error {
	var answer struct {
		Applied       bool
		FailureReason string
	}
	if err := c.ask("workspace/applyEdit", map[string]any{"label": label, "edit": edit}, &answer); err != nil {
		return fmt.Errorf("the client has not made the changes: %w", err)
	}
	if !answer.Applied {
		return fmt.Errorf("the client has not made the changes: %s", answer.FailureReason)
	}
	return nil
}

type documentID struct {
	URI     string `json:"uri"`
	Version *int   `json:"version"`
}

type documentEdit struct {
	TextDocument documentID `json:"textDocument"`
	Edits        []textEdit `json:"edits"`
}

// workspaceEdit returns an edit in the form that the client knows. The edits of a document are together,
// because all of them count in its text before them.
func (c *session) workspaceEdit(e *language.WorkspaceEdit, versions map[string]int) (any, error) {
	var list []any
	changes := map[string][]textEdit{}
	var order []string
	flush := func() {
		for _, key := range order {
			id := documentID{URI: c.spelled(language.URI(key))}
			if version, ok := versions[key]; ok {
				id.Version = &version
			}
			list = append(list, documentEdit{id, changes[key]})
			delete(changes, key)
		}
		order = nil
	}
	for _, one := range e.Edits {
		if one.TextEdit != nil {
			key := string(one.Resource)
			if changes[key] == nil {
				order = append(order, key)
			}
			changes[key] = append(changes[key], textEdit{one.TextEdit.Range, one.TextEdit.Text})
			continue
		}
		op := map[string]any{"kind": "rename", "oldUri": one.Old, "newUri": one.New}
		switch {
		case one.Old == "":
			op = map[string]any{"kind": "create", "uri": one.New}
		case one.New == "":
			op = map[string]any{"kind": "delete", "uri": one.Old}
		}
		if kind, _ := op["kind"].(string); !c.caps.can(kind) {
			return nil, &codec.Error{Code: codeRequestFailed, Message: "the edit has to " + kind + " a file, which the editor does not know"}
		}
		flush()
		list = append(list, op)
	}
	if !c.caps.Workspace.WorkspaceEdit.DocumentChanges {
		out := map[string][]textEdit{}
		for _, key := range order {
			out[c.spelled(language.URI(key))] = changes[key]
		}
		return map[string]any{"changes": out}, nil
	}
	flush()
	return map[string]any{"documentChanges": append([]any{}, list...)}, nil
}
