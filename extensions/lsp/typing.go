package lsp

import (
	"context"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
)

// onType returns the edits behind a character that was typed.
func onType(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeatureFormatOnType)
	q.Text = p.Ch
	all, err := language.Get[[]language.TextEdit](ctx, c.s.opt.Language, q)
	return textEdits(all), err
}

// linked returns the ranges that change together with the one at a position.
func linked(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[*language.LinkedRanges](ctx, c, p, language.FeatureLinked)
	if err != nil || all == nil {
		return nil, err
	}
	return all, nil
}

// typedByItself is the kind of a question for inline completions that no user has asked.
const typedByItself = 2

type inlineCompletion struct {
	Insert  any             `json:"insertText"` // a text, or a snippet
	Filter  string          `json:"filterText,omitempty"`
	Range   *language.Range `json:"range,omitempty"`
	Command *command        `json:"command,omitempty"`
}

func inlineCompletions(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeatureInline)
	q.Automatic = p.Context.TriggerKind == typedByItself
	if selected := p.Context.SelectedCompletionInfo; selected != nil {
		q.Range, q.Text = &selected.Range, selected.Text
	}
	all, err := language.Get[[]language.InlineCompletion](ctx, c.s.opt.Language, q)
	out := []inlineCompletion{}
	for _, i := range all {
		one := inlineCompletion{i.Text, i.Filter, i.Range, c.command(i.Command)}
		if i.Snippet {
			one.Insert = map[string]string{"kind": "snippet", "value": i.Text}
		}
		out = append(out, one)
	}
	return out, err
}

// willSave returns what extensions change in a document before the client saves it.
func willSave(ctx context.Context, c *session, p *request) (any, error) {
	s := c.s
	s.mu.Lock()
	v := s.find(c, p.uri.String())
	if v == nil || v.sending {
		s.mu.Unlock()
		return nil, nil
	}
	v.sending = true // what is changed is in the answer
	s.mu.Unlock()
	err := v.open.WillSave(ctx, documents.SaveReason(p.Reason))
	s.mu.Lock()
	defer s.mu.Unlock()
	v.sending = false
	if err != nil {
		return nil, err
	}
	now, _ := v.open.Text()
	v.answered = now
	return difference(v.text, now), nil
}

// announced lets extensions take part in a save of a client that does not wait for them. What they change is
// sent to it afterwards, as all that extensions change.
func (s *Server) announced(c *session, uri workbench.URI, reason documents.SaveReason) error {
	if err := s.use(c, uri); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.find(c, uri.String())
	if v == nil || v.sending {
		return nil
	}
	done := make(chan struct{})
	v.saving, v.sending = done, true // the text of the client does not undo what extensions change
	c.work.Go(func() {
		err := v.open.WillSave(c.ctx, reason)
		s.mu.Lock()
		v.saving, v.sending = nil, false
		s.deliverLocked(v.key)
		s.mu.Unlock()
		close(done)
		if err != nil {
			c.log("textDocument/willSave: " + err.Error())
		}
	})
	return nil
}
