package lsp

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/workbench/language"
)

type textEdit struct {
	Range   language.Range `json:"range"`
	NewText string         `json:"newText"`
}

func textEdits(all []language.TextEdit) []textEdit {
	out := make([]textEdit, 0, len(all))
	for _, e := range all {
		out = append(out, textEdit{e.Range, e.Text})
	}
	return out
}

type symbolInformation struct {
	Name      string   `json:"name"`
	Kind      int      `json:"kind"`
	Tags      []int    `json:"tags,omitempty"`
	Location  location `json:"location"`
	Container string   `json:"containerName,omitempty"`
}

type documentSymbol struct {
	Name      string           `json:"name"`
	Detail    string           `json:"detail,omitempty"`
	Kind      int              `json:"kind"`
	Tags      []int            `json:"tags,omitempty"`
	Range     language.Range   `json:"range"`
	Selection language.Range   `json:"selectionRange"`
	Children  []documentSymbol `json:"children,omitempty"`
}

func hierarchy(all []language.Symbol) []documentSymbol {
	out := []documentSymbol{}
	for _, s := range all {
		out = append(out, documentSymbol{s.Name, s.Detail, symbolKind(s.Kind), s.Tags, s.Range, s.Selection, hierarchy(s.Children)})
	}
	return out
}

// flat appends the symbols of a document for clients that know no hierarchy.
func flat(uri, container string, all []language.Symbol, out []symbolInformation) []symbolInformation {
	for _, s := range all {
		out = append(out, symbolInformation{s.Name, symbolKind(s.Kind), s.Tags, location{uri, s.Range}, container})
		out = flat(uri, s.Name, s.Children, out)
	}
	return out
}

// The kinds of LSP by their names in package language; LSP counts them from 1.
var (
	symbolKinds = strings.Fields("file module namespace package class method property field constructor enum interface function variable " +
		"constant string number boolean array object key null enumMember struct event operator typeParameter")
	completionKinds = strings.Fields("text method function constructor field variable class interface module property unit value enum keyword " +
		"snippet color file reference folder enumMember constant struct event operator typeParameter")
)

// symbolKind returns a kind of LSP: that of a variable if LSP has no such kind.
func symbolKind(k language.SymbolKind) int {
	if i := slices.Index(symbolKinds, string(k)); i >= 0 {
		return i + 1
	}
	return slices.Index(symbolKinds, "variable") + 1
}

// completionKind returns a kind of LSP: that of a text if LSP has no such kind.
func completionKind(k language.CompletionKind) int {
	return max(slices.Index(completionKinds, string(k)), 0) + 1
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// markup returns a text in a format of the client; nil if there is no text.
func (capabilities) markup(m language.Markdown, formats []string) any {
	if m == "" {
		return nil
	}
	if len(formats) > 0 && !slices.Contains(formats, "markdown") {
		return markup{"plaintext", string(m)}
	}
	return markup{"markdown", string(m)}
}

// placeholder is what a snippet of VS Code has between braces: a default, or choices.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\w+:([^{}]*)\}|\$\{\w+\|([^,|}]*)[^}]*\}|\$\{[^{}]*\}|\$\w+`)
})

// plain returns the text of a snippet for a client that has no snippets.
func plain(snippet string) string {
	const dollar, brace, slash = "\x00", "\x01", "\x02"
	s := strings.NewReplacer(`\\`, slash, `\$`, dollar, `\}`, brace).Replace(snippet)
	for {
		next := placeholder().ReplaceAllString(s, "$1$2")
		if next == s {
			break
		}
		s = next
	}
	return strings.NewReplacer(dollar, "$", brace, "}", slash, `\`).Replace(s)
}
