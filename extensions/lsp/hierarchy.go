package lsp

import (
	"context"

	"github.com/hostsup/hostsup/workbench/language"
)

// hierarchyItem is an item of a hierarchy of calls or types. The client sends it back with Data.
type hierarchyItem struct {
	Name      string         `json:"name"`
	Kind      int            `json:"kind"`
	Detail    string         `json:"detail,omitempty"`
	URI       string         `json:"uri"`
	Range     language.Range `json:"range"`
	Selection language.Range `json:"selectionRange"`
	// Data is the item as package language has it, which is found by its session and id, or again at its
	// place.
	Data language.HierarchyItem `json:"data"`
}

func (c *session) hierarchyItem(i language.HierarchyItem) hierarchyItem {
	out := hierarchyItem{i.Name, symbolKind(i.Kind), i.Detail, c.spelled(i.URI), i.Range, i.Selection, i}
	out.Data.CallsFrom = nil
	return out
}

// roots returns the items of a hierarchy at a position.
func roots(f language.Feature) func(context.Context, *session, *request) (any, error) {
	return func(ctx context.Context, c *session, p *request) (any, error) {
		all, err := get[[]language.HierarchyItem](ctx, c, p, f)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return c.hierarchyItems(all), nil
	}
}

func (c *session) hierarchyItems(all []language.HierarchyItem) []hierarchyItem {
	out := []hierarchyItem{}
	for _, i := range all {
		out = append(out, c.hierarchyItem(i))
	}
	return out
}

// calls returns the other ends of the calls of or in an item. end is the name that LSP has for it.
func calls(what language.Relation, end string) func(context.Context, *session, *request) (any, error) {
	return func(ctx context.Context, c *session, p *request) (any, error) {
		all, err := c.s.opt.Language.Related(ctx, p.Item.Data, what)
		out := []map[string]any{}
		for _, i := range all {
			ranges := i.CallsFrom
			if ranges == nil {
				ranges = []language.Range{}
			}
			out = append(out, map[string]any{end: c.hierarchyItem(i), "fromRanges": ranges})
		}
		return out, err
	}
}

// types returns the types that an item is made of, or that are made of it.
func types(what language.Relation) func(context.Context, *session, *request) (any, error) {
	return func(ctx context.Context, c *session, p *request) (any, error) {
		all, err := c.s.opt.Language.Related(ctx, p.Item.Data, what)
		return c.hierarchyItems(all), err
	}
}
