package language

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Position is a position in a text: line and character count from 0, characters in UTF-16 units.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, which counts from 1.
func (p *Position) UnmarshalJSON(raw []byte) error {
	var in struct {
		Line, Character, LineNumber, Column int
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*p = Position{in.Line, in.Character}
	if in.LineNumber > 0 {
		*p = Position{in.LineNumber - 1, in.Column - 1}
	}
	return nil
}

// wire returns the position as hosts expect it.
func (p Position) wire() map[string]int {
	return map[string]int{"lineNumber": p.Line + 1, "column": p.Character + 1}
}

// Range is a part of a text, from Start to before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, which counts from 1.
func (r *Range) UnmarshalJSON(raw []byte) error {
	var in struct {
		Start, End Position
		text.Range
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*r = Range{in.Start, in.End}
	if in.StartLine > 0 {
		*r = Range{Position{in.StartLine - 1, in.StartColumn - 1}, Position{in.EndLine - 1, in.EndColumn - 1}}
	}
	return nil
}

// wire returns the range as hosts expect it.
func (r Range) wire() text.Range {
	return text.Range{StartLine: r.Start.Line + 1, StartColumn: r.Start.Character + 1, EndLine: r.End.Line + 1, EndColumn: r.End.Character + 1}
}

// Compare orders positions.
func (p Position) Compare(q Position) int {
	if p.Line != q.Line {
		return p.Line - q.Line
	}
	return p.Character - q.Character
}

// Contains reports whether all of other is in the range.
func (r Range) Contains(other Range) bool {
	return r.Start.Compare(other.Start) <= 0 && other.End.Compare(r.End) <= 0
}

// URI is a URI as text.
type URI string

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, an object.
func (u *URI) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*u = URI(s)
		return nil
	}
	var parts *workbench.URI
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if parts != nil {
		*u = URI(parts.String())
	}
	return nil
}

// Markdown is a text of VS Code, which may have markup.
type Markdown string

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, an object.
func (m *Markdown) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*m = Markdown(s)
		return nil
	}
	var in struct{ Value string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*m = Markdown(in.Value)
	return nil
}

// SymbolKind is the kind of a symbol by its name, such as "method".
type SymbolKind string

// CompletionKind is the kind of a completion by its name, such as "method".
type CompletionKind string

// The names of kinds, by VS Code's numbers.
var (
	symbolKinds = strings.Fields("file module namespace package class method property field constructor enum interface function variable " +
		"constant string number boolean array object key null enumMember struct event operator typeParameter")
	completionKinds = strings.Fields("method function constructor field variable class struct interface module property event operator unit " +
		"value constant enum enumMember keyword text color file reference customColor folder typeParameter user issue snippet")
)

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, a number.
func (k *SymbolKind) UnmarshalJSON(raw []byte) error { return readKind((*string)(k), symbolKinds, raw) }

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, a number.
func (k *CompletionKind) UnmarshalJSON(raw []byte) error {
	return readKind((*string)(k), completionKinds, raw)
}

// readKind reads a kind by its number or name. A number that no release has becomes "".
func readKind(to *string, names []string, raw []byte) error {
	var n int
	if json.Unmarshal(raw, &n) != nil {
		return json.Unmarshal(raw, to)
	}
	if *to = ""; n >= 0 && n < len(names) {
		*to = names[n]
	}
	return nil
}
