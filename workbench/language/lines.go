package language

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// FeatureDiagnostics is what extensions have reported about a document by themselves. Package
// workbench/diagnostics has it, and [Service.Ask] does not know it.
const FeatureDiagnostics Feature = "diagnostics"

// Lines returns a result of [Service.Ask], or the problems of [FeatureDiagnostics], as lines of text:
// FILE:LINE:COL and what is there, counted from 1 as compilers count. raw is the result as JSON, and file is
// the document, for results that do not name theirs. An edit is FILE:LINE:COL-LINE:COL and the quoted new
// text. A feature without a form of its own has a line of JSON for each item. Lines returns no line if raw
// has no item. NOTE: The texts are those of extensions, and a terminal needs them without control
// characters. The error means that raw is not a result of the feature.
func Lines(f Feature, file string, raw json.RawMessage) (out []string, err error) {
	add := func(at string, parts ...string) {
		parts = slices.DeleteFunc(append([]string{at}, parts...), func(s string) bool { return s == "" })
		out = append(out, strings.Join(parts, " "))
	}
	edit := func(file string, e TextEdit) { add(Span(file, e.Range), strconv.Quote(e.Text)) }
	switch f {
	case FeatureHover:
		return out, each(raw, func(h HoverText) {
			for _, text := range h.Contents {
				for line := range strings.Lines(string(text)) {
					out = append(out, strings.TrimRight(line, "\r\n"))
				}
			}
		})
	case FeatureDefinition, FeatureDeclaration, FeatureTypeDefinition, FeatureImplementation, FeatureReferences:
		return out, each(raw, func(l Location) {
			at := l.Range.Start
			if l.Selection != nil {
				at = l.Selection.Start
			}
			add(Place(l.URI.Path(), at))
		})
	case FeatureCompletion:
		var list CompletionList
		err = json.Unmarshal(raw, &list)
		for _, i := range list.Items {
			add(i.Label.Label+i.Label.Detail, string(i.Kind), i.Detail)
		}
		return out, err
	case FeatureSymbols:
		var tree func(list []Symbol, indent string)
		tree = func(list []Symbol, indent string) {
			for _, s := range list {
				add(Place(file, s.Selection.Start), indent+string(s.Kind), s.Name, s.Detail)
				tree(s.Children, indent+"  ")
			}
		}
		var all []Symbol
		err = json.Unmarshal(raw, &all)
		tree(all, "")
		return out, err
	case FeatureWorkspaceSymbol:
		return out, each(raw, func(s SymbolInformation) {
			add(Place(s.Location.URI.Path(), s.Location.Range.Start), string(s.Kind), s.Name, s.Container)
		})
	case FeatureFormat:
		return out, each(raw, func(e TextEdit) { edit(file, e) })
	case FeatureRename:
		var w *WorkspaceEdit
		if err = json.Unmarshal(raw, &w); err != nil || w == nil {
			return nil, err
		}
		for _, e := range w.Edits {
			switch {
			case e.TextEdit != nil:
				edit(e.Resource.Path(), *e.TextEdit)
			case e.Old == "":
				add("create", e.New.Path())
			case e.New == "":
				add("delete", e.Old.Path())
			default:
				add("move", e.Old.Path(), e.New.Path())
			}
		}
		return out, nil
	case FeatureCallHierarchy, FeatureTypeHierarchy, FeatureIncoming, FeatureOutgoing, FeatureSupertypes, FeatureSubtypes:
		return out, each(raw, func(h HierarchyItem) { add(Place(h.URI.Path(), h.Selection.Start), string(h.Kind), h.Name, h.Detail) })
	case FeatureActions:
		return out, each(raw, func(x Action) { add(x.Title, "("+x.Kind+")") })
	case FeatureTokens:
		return out, each(raw, func(t Token) {
			add(Place(file, t.Position), strconv.Itoa(t.Length), t.Type, strings.Join(t.Modifiers, " "))
		})
	case FeatureDiagnostics:
		return out, each(raw, func(d struct {
			Range                 Range
			Severity              int
			Message, Source, Code string
		},
		) {
			names := map[int]string{1: "hint", 2: "information", 4: "warning", 8: "error"}
			add(Place(file, d.Range.Start)+": "+names[d.Severity]+":", d.Message, strings.TrimSpace(d.Source+" "+d.Code))
		})
	}
	if strings.HasPrefix(string(raw), "[") { // the others as they are, an item a line
		return out, each(raw, func(one json.RawMessage) { add(string(one)) })
	}
	if string(raw) != "null" {
		add(string(raw))
	}
	return out, nil
}

// each decodes a list.
func each[T any](raw json.RawMessage, f func(T)) error {
	var list []T
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, one := range list {
		f(one)
	}
	return nil
}

// Place returns FILE:LINE:COL, which count from 1.
func Place(file string, p Position) string {
	return fmt.Sprintf("%s:%d:%d", file, p.Line+1, p.Character+1)
}

// Span returns FILE:LINE:COL-LINE:COL, which count from 1. The second position is behind the range.
func Span(file string, r Range) string {
	return fmt.Sprintf("%s-%d:%d", Place(file, r.Start), r.End.Line+1, r.End.Character+1)
}

// Path returns the path of a file: URI, and other URIs as they are.
func (u URI) Path() string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return string(u)
	}
	if path, ok := (workbench.URI{Scheme: parsed.Scheme, Authority: parsed.Host, Path: parsed.Path}).FilePath(); ok {
		return path
	}
	return string(u)
}
