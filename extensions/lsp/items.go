package lsp

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench/language"
)

type insertReplace struct {
	NewText string         `json:"newText"`
	Insert  language.Range `json:"insert"`
	Replace language.Range `json:"replace"`
}

type completionItem struct {
	Label         string     `json:"label"`
	LabelDetails  any        `json:"labelDetails,omitempty"`
	Kind          int        `json:"kind"`
	Tags          []int      `json:"tags,omitempty"`
	Detail        string     `json:"detail,omitempty"`
	Documentation any        `json:"documentation,omitempty"`
	Preselect     bool       `json:"preselect,omitempty"`
	SortText      string     `json:"sortText,omitempty"`
	FilterText    string     `json:"filterText,omitempty"`
	Format        int        `json:"insertTextFormat"` // 1: a text, 2: a snippet
	Mode          int        `json:"insertTextMode"`   // 1: as it is, 2: indented as its line
	TextEdit      any        `json:"textEdit"`
	Additional    []textEdit `json:"additionalTextEdits,omitempty"`
	Commit        []string   `json:"commitCharacters,omitempty"`
	Command       *command   `json:"command,omitempty"`
	Data          string     `json:"data,omitempty"` // for completionItem/resolve
}

// Rules of completions.
const (
	keepSpace = 1
	isSnippet = 4
)

func (c *session) completion(i language.CompletionItem) completionItem {
	can := c.caps.TextDocument.Completion.CompletionItem
	out := completionItem{
		Label: i.Label.Label, Kind: completionKind(i.Kind), Tags: i.Tags, Detail: i.Detail, Documentation: c.caps.markup(i.Documentation, can.DocumentationFormat),
		Preselect: i.Preselect, SortText: i.SortText, FilterText: i.FilterText, Format: 1, Mode: 2, Commit: i.Commit, Command: c.command(i.Command), Data: i.Ref,
	}
	if can.LabelDetailsSupport && (i.Label.Detail != "" || i.Label.Description != "") {
		out.LabelDetails = map[string]string{"detail": i.Label.Detail, "description": i.Label.Description}
	}
	if i.Rules&keepSpace != 0 {
		out.Mode = 1
	}
	insert := i.InsertText
	if i.Rules&isSnippet != 0 {
		if out.Format = 2; !can.SnippetSupport {
			insert, out.Format = plain(insert), 1
		}
	}
	if can.InsertReplaceSupport && i.Range.Insert != i.Range.Replace {
		out.TextEdit = insertReplace{insert, i.Range.Insert, i.Range.Replace}
	} else {
		out.TextEdit = textEdit{i.Range.Insert, insert}
	}
	if len(i.Additional) > 0 {
		out.Additional = textEdits(i.Additional)
	}
	return out
}

func completion(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeatureCompletion)
	q.Text, q.Typed = p.Context.TriggerCharacter, true
	list, err := language.Get[*language.CompletionList](ctx, c.s.opt.Language, q)
	if err != nil {
		return nil, err
	}
	items := make([]completionItem, 0, len(list.Items))
	for _, i := range list.Items {
		items = append(items, c.completion(i))
	}
	return map[string]any{"isIncomplete": list.Incomplete, "items": items}, nil
}

// item reads an item that the client sends back, as it was sent to the client, and its reference.
func (p *request) item(to any) (ref string, err error) {
	var own struct{ Data string }
	if err := json.Unmarshal(p.raw, &own); err != nil {
		return "", &codec.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	if err := json.Unmarshal(p.raw, to); err != nil {
		return "", &codec.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	return own.Data, nil
}

func resolveCompletion(ctx context.Context, c *session, p *request) (any, error) {
	all := map[string]any{}
	ref, err := p.item(&all)
	if err != nil || ref == "" {
		return all, err
	}
	var item language.CompletionItem
	if err := c.s.opt.Language.Resolve(ctx, language.FeatureCompletion, ref, &item); err != nil {
		return nil, err
	}
	now := c.completion(item)
	if now.Detail != "" {
		all["detail"] = now.Detail
	}
	if now.Documentation != nil {
		all["documentation"] = now.Documentation
	}
	if now.Additional != nil {
		all["additionalTextEdits"] = now.Additional
	}
	if now.Command != nil {
		all["command"] = now.Command
	}
	return all, nil
}

type codeAction struct {
	Title     string   `json:"title"`
	Kind      string   `json:"kind,omitempty"`
	Preferred bool     `json:"isPreferred,omitempty"`
	Edit      any      `json:"edit,omitempty"`
	Command   *command `json:"command,omitempty"`
	Data      string   `json:"data,omitempty"` // for codeAction/resolve
}

func (c *session) action(a language.Action, versions map[string]int) (codeAction, error) {
	out := codeAction{Title: a.Title, Kind: a.Kind, Preferred: a.Preferred, Command: c.command(a.Command), Data: a.Ref}
	if a.Edit == nil {
		return out, nil
	}
	var err error
	out.Edit, err = c.workspaceEdit(a.Edit, versions)
	return out, err
}

func resolveAction(ctx context.Context, c *session, p *request) (any, error) {
	versions := c.versions()
	all := map[string]any{}
	ref, err := p.item(&all)
	if err != nil || ref == "" {
		return all, err
	}
	var a language.Action
	if err := c.s.opt.Language.Resolve(ctx, language.FeatureActions, ref, &a); err != nil {
		return nil, err
	}
	return c.action(a, versions)
}

type codeLens struct {
	Range   language.Range `json:"range"`
	Command *command       `json:"command,omitempty"`
	Data    string         `json:"data,omitempty"` // for codeLens/resolve
}

func resolveLens(ctx context.Context, c *session, p *request) (any, error) {
	all := map[string]any{}
	ref, err := p.item(&all)
	if err != nil || ref == "" {
		return all, err
	}
	var l language.Lens
	if err := c.s.opt.Language.Resolve(ctx, language.FeatureLenses, ref, &l); err != nil {
		return nil, err
	}
	return codeLens{l.Range, c.command(l.Command), l.Ref}, nil
}
