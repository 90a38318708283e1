package lsp

import (
	"context"

	"github.com/hostsup/hostsup/workbench/language"
)

// inlayHint is a text that is shown within a line.
type inlayHint struct {
	Position language.Position `json:"position"`
	Label    string            `json:"label"`
	Kind     int               `json:"kind,omitempty"`
	Tooltip  any               `json:"tooltip,omitempty"`
	Left     bool              `json:"paddingLeft"`
	Right    bool              `json:"paddingRight"`
	Edits    []textEdit        `json:"textEdits,omitempty"`
	Data     string            `json:"data,omitempty"` // for inlayHint/resolve
}

func (c *session) hint(h language.Hint) inlayHint {
	out := inlayHint{h.Position, string(h.Label), h.Kind, c.caps.markup(h.Tooltip, nil), h.Left, h.Right, nil, h.Ref}
	if len(h.Edits) > 0 {
		out.Edits = textEdits(h.Edits)
	}
	return out
}

func hints(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Hint](ctx, c, p, language.FeatureHints)
	out := []inlayHint{}
	for _, h := range all {
		out = append(out, c.hint(h))
	}
	return out, err
}

func resolveHint(ctx context.Context, c *session, p *request) (any, error) {
	all := map[string]any{}
	ref, err := p.item(&all)
	if err != nil || ref == "" {
		return all, err
	}
	var h language.Hint
	if err := c.s.opt.Language.Resolve(ctx, language.FeatureHints, ref, &h); err != nil {
		return nil, err
	}
	return c.hint(h), nil
}

// color is a color of LSP, each part from 0 to 1.
type color struct {
	Red   float64 `json:"red"`
	Green float64 `json:"green"`
	Blue  float64 `json:"blue"`
	Alpha float64 `json:"alpha"`
}

func colors(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Color](ctx, c, p, language.FeatureColors)
	out := []map[string]any{}
	for _, i := range all {
		out = append(out, map[string]any{"range": i.Range, "color": color{i.Color[0], i.Color[1], i.Color[2], i.Color[3]}})
	}
	return out, err
}

// presentations returns how a color can be written. One without an edit is its label.
func presentations(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeaturePresentations)
	q.Color = [4]float64{p.Color.Red, p.Color.Green, p.Color.Blue, p.Color.Alpha}
	all, err := language.Get[[]language.Presentation](ctx, c.s.opt.Language, q)
	out := []map[string]any{}
	for _, i := range all {
		one := map[string]any{"label": i.Label}
		if i.Edit != nil {
			one["textEdit"] = textEdit{i.Edit.Range, i.Edit.Text}
		}
		if len(i.Additional) > 0 {
			one["additionalTextEdits"] = textEdits(i.Additional)
		}
		out = append(out, one)
	}
	return out, err
}
