package fileinfo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// Decoration is what an extension shows beside the name of a file. Its texts have one line.
type Decoration struct {
	URI       string `json:"uri"`
	Host      string `json:"host"`
	Extension string `json:"extension"` // the id
	Badge     string `json:"badge,omitempty"`
	Tooltip   string `json:"tooltip,omitempty"`
	Color     string `json:"color,omitempty"` // the id of a color of the theme
	// Propagates reports whether a window shows it for the folders above the file, too.
	Propagates bool `json:"propagates,omitempty"`
}

// Moment is what a timeline has of a file. Its texts have one line.
type Moment struct {
	Host        string    `json:"host"`
	Source      string    `json:"source"` // the label of the timeline
	ID          string    `json:"id"`
	Time        time.Time `json:"time"`
	Label       string    `json:"label"`
	Description string    `json:"description,omitempty"`
	Tooltip     string    `json:"tooltip,omitempty"`
	Command     string    `json:"command,omitempty"` // what a click executes
	Context     string    `json:"context,omitempty"` // contextValue
}

// The methods of hosts.
const (
	methodDecorations = "ExtHostDecorations.$provideDecorations"
	methodTimeline    = "ExtHostTimeline.$getTimeline"
)

// Decorations returns the decorations of files, in their order. host is the name of the only host that is
// asked; "" is all hosts. Up to 10,000 files are asked about. The error is that of a host.
func (s *Service) Decorations(ctx context.Context, host string, files []workbench.URI) ([]Decoration, error) {
	if len(files) > maxFiles {
		return nil, workbench.Invalid("up to %d files expected, not %d", maxFiles, len(files))
	}
	type question struct {
		ID  int           `json:"id"`
		URI workbench.URI `json:"uri"`
	}
	var asked []question
	for i, file := range files {
		asked = append(asked, question{i, file})
	}
	found := make([][]Decoration, len(files))
	for _, p := range s.of(s.decorating, host) {
		var raw json.RawMessage
		if err := p.host.Call(ctx, methodDecorations, workbench.Params(p.handle, asked, workbench.Token), &raw); err != nil {
			return nil, err
		}
		var answers map[int][]json.RawMessage // each: whether it propagates, tooltip, badge, color
		if err := workbench.Decode(raw, &answers); err != nil {
			return nil, fmt.Errorf("decorations of %s: %w", p.id, err)
		}
		for i, answer := range answers {
			if i < 0 || i >= len(files) {
				continue
			}
			d := Decoration{URI: files[i].String(), Host: p.host.Name(), Extension: s.line(p.id)}
			var tooltip string
			var color struct{ ID string }
			for at, to := range []any{&d.Propagates, &tooltip, nil, &color} {
				if at < len(answer) && to != nil {
					_ = json.Unmarshal(answer[at], to) // what has another form is left out
				}
			}
			if len(answer) > 2 {
				d.Badge = s.line(badge(answer[2]))
			}
			d.Tooltip, d.Color = s.line(tooltip), s.line(color.ID)
			found[i] = append(found[i], d)
		}
	}
	return append([]Decoration{}, slices.Concat(found...)...), nil
}

// badge returns a text, or the id of an icon of the theme.
func badge(raw json.RawMessage) (text string) {
	var icon struct{ ID string }
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &icon) == nil && icon.ID != "" {
		return "$(" + icon.ID + ")"
	}
	return text
}

// Timeline returns what the timelines have of a file, the latest first. host is the name of the only host
// that is asked; "" is all hosts. limit is how many moments of each timeline are asked for, from 1 to 10,000.
// The error is that of a host.
func (s *Service) Timeline(ctx context.Context, host string, file workbench.URI, limit int) ([]Moment, error) {
	if limit < 1 || limit > maxItems {
		return nil, workbench.Invalid("a limit from 1 to %d expected, not %d", maxItems, limit)
	}
	out := []Moment{}
	for _, p := range s.of(s.timelines, host) {
		if !slices.Contains(p.schemes, file.Scheme) && !slices.Contains(p.schemes, "*") {
			continue
		}
		var raw json.RawMessage
		if err := p.host.Call(ctx, methodTimeline, workbench.Params(p.id, file, map[string]any{"limit": limit}, workbench.Token), &raw); err != nil {
			return nil, err
		}
		var answer *struct {
			Items []struct {
				ID                 *string
				Timestamp          float64 // milliseconds
				Label, Description string
				Tooltip            json.RawMessage // a text, or one in Markdown
				Command            *struct{ ID string }
				ContextValue       string
			}
		}
		if err := workbench.Decode(raw, &answer); err != nil {
			return nil, fmt.Errorf("timeline %s: %w", p.id, err)
		}
		if answer == nil {
			continue
		}
		for _, in := range answer.Items[:min(len(answer.Items), limit)] {
			m := Moment{
				Host: p.host.Name(), Source: s.line(p.label), Time: time.UnixMilli(int64(in.Timestamp)).UTC(), Label: s.line(in.Label),
				Description: s.line(in.Description), Tooltip: s.line(workbench.Text(in.Tooltip)), Context: s.line(in.ContextValue),
			}
			if in.ID != nil {
				m.ID = s.line(*in.ID)
			}
			if in.Command != nil {
				m.Command = s.line(in.Command.ID)
			}
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return b.Time.Compare(a.Time) })
	return out, nil
}
