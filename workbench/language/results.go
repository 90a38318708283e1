package language

import (
	"encoding/json"
	"errors"
	"strings"
)

// Resolvable is the part of an item that its provider may add something to.
type Resolvable struct {
	// Ref is for [Service.Resolve]; "" if the item has no more parts.
	Ref string `json:"ref,omitempty"`
}

func (r *Resolvable) setRef(ref string) { r.Ref = ref }

// HoverText is what is shown at a position by one provider.
type HoverText struct {
	Contents []Markdown `json:"contents"`
	Range    *Range     `json:"range,omitempty"`
}

// Location is where something is.
type Location struct {
	URI       URI    `json:"uri"`
	Range     Range  `json:"range"`
	Selection *Range `json:"targetSelectionRange,omitempty"` // the name within Range
	Origin    *Range `json:"originSelectionRange,omitempty"` // what was asked about
}

// Highlight is an occurrence of a symbol in its document.
type Highlight struct {
	Range Range `json:"range"`
	Kind  int   `json:"kind"` // 0: text, 1: read, 2: write
}

// SignatureHelp has the signatures of the call at a position.
type SignatureHelp struct {
	Signatures []SignatureInformation `json:"signatures"`
	Active     int                    `json:"activeSignature"`
	Parameter  int                    `json:"activeParameter"`
}

// SignatureInformation is a signature.
type SignatureInformation struct {
	Label         string   `json:"label"`
	Documentation Markdown `json:"documentation,omitempty"`
	Parameters    []struct {
		Label         json.RawMessage `json:"label"` // a text, or where it begins and ends in the signature's
		Documentation Markdown        `json:"documentation,omitempty"`
	} `json:"parameters"`
}

// Symbol is a symbol of a document.
type Symbol struct {
	Name      string     `json:"name"`
	Detail    string     `json:"detail,omitempty"`
	Container string     `json:"containerName,omitempty"`
	Kind      SymbolKind `json:"kind"`
	Tags      []int      `json:"tags,omitempty"` // 1: deprecated
	Range     Range      `json:"range"`
	Selection Range      `json:"selectionRange"`
	Children  []Symbol   `json:"children,omitempty"`
}

// SymbolInformation is a symbol of the workspace.
type SymbolInformation struct {
	Name      string     `json:"name"`
	Container string     `json:"containerName,omitempty"`
	Kind      SymbolKind `json:"kind"`
	Tags      []int      `json:"tags,omitempty"`
	Location  Location   `json:"location"`
	Resolvable
}

// TextEdit replaces a part of a text.
type TextEdit struct {
	Range Range  `json:"range"`
	Text  string `json:"text"`
}

// WorkspaceEdit is a list of changes of texts and files, in their order.
type WorkspaceEdit struct {
	Edits []Edit `json:"edits"`
}

// Edit changes a text if TextEdit is not nil. Else it creates a file (only New is not ""), deletes one
// (only Old), or moves one.
type Edit struct {
	Resource URI       `json:"resource,omitempty"`
	TextEdit *TextEdit `json:"textEdit,omitempty"`
	Old      URI       `json:"oldResource,omitempty"`
	New      URI       `json:"newResource,omitempty"`
}

// Command is a command that an extension offers to execute.
type Command struct {
	ID        string            `json:"id"`
	Title     string            `json:"title"`
	Arguments []json.RawMessage `json:"arguments,omitempty"`
}

// Action is a code action.
type Action struct {
	Title     string         `json:"title"`
	Kind      string         `json:"kind,omitempty"` // such as "refactor.extract"
	Preferred bool           `json:"isPreferred,omitempty"`
	Edit      *WorkspaceEdit `json:"edit,omitempty"`
	Command   *Command       `json:"command,omitempty"` // executed after the edit
	Resolvable
}

// Lens is a command that is shown above a line.
type Lens struct {
	Range   Range    `json:"range"`
	Command *Command `json:"command,omitempty"`
	Resolvable
}

// FoldingRange has lines that are folded: they count from 0, and End is the last one.
type FoldingRange struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind,omitempty"` // "comment", "imports", "region"
}

// wireFolding is how hosts send a FoldingRange.
type wireFolding struct {
	Start int             `json:"start"`
	End   int             `json:"end"`
	Kind  json.RawMessage `json:"kind,omitempty"`
}

// Token is a semantic token.
type Token struct {
	Position  Position `json:"position"`
	Length    int      `json:"length"` // in UTF-16 units
	Type      string   `json:"type"`
	Modifiers []string `json:"modifiers,omitempty"`
}

// Legend has the names of token types and modifiers.
type Legend struct {
	Types     []string `json:"tokenTypes"`
	Modifiers []string `json:"tokenModifiers"`
}

// Hint is a text that is shown within a line.
type Hint struct {
	Position Position   `json:"position"`
	Label    HintLabel  `json:"label"`
	Tooltip  Markdown   `json:"tooltip,omitempty"`
	Kind     int        `json:"kind,omitempty"` // 1: a type, 2: a parameter
	Left     bool       `json:"paddingLeft,omitempty"`
	Right    bool       `json:"paddingRight,omitempty"`
	Edits    []TextEdit `json:"textEdits,omitempty"`
	Resolvable
}

// HintLabel is the text of a hint.
type HintLabel string

// UnmarshalJSON implements [json.Unmarshaler]: a label may have parts.
func (l *HintLabel) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*string)(l)) == nil {
		return nil
	}
	var parts []struct{ Label string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Label)
	}
	*l = HintLabel(b.String())
	return nil
}

// Link is a link in a document.
type Link struct {
	Range   Range  `json:"range"`
	Target  URI    `json:"url,omitempty"`
	Tooltip string `json:"tooltip,omitempty"`
	Resolvable
}

// Color is a color in a document: red, green, blue and alpha from 0 to 1.
type Color struct {
	Range Range      `json:"range"`
	Color [4]float64 `json:"color"`
}

// Presentation is a way to write a color.
type Presentation struct {
	Label      string     `json:"label"`
	Edit       *TextEdit  `json:"textEdit,omitempty"`
	Additional []TextEdit `json:"additionalTextEdits,omitempty"`
}

// CompletionList is what could stand at a position, the best first.
type CompletionList struct {
	Items      []CompletionItem `json:"items"`
	Incomplete bool             `json:"incomplete,omitempty"` // ask again when more is typed
}

// CompletionItem is what could stand at a position.
type CompletionItem struct {
	Label         CompletionLabel `json:"label"`
	Kind          CompletionKind  `json:"kind"`
	Tags          []int           `json:"tags,omitempty"` // 1: deprecated
	Detail        string          `json:"detail,omitempty"`
	Documentation Markdown        `json:"documentation,omitempty"`
	SortText      string          `json:"sortText,omitempty"`
	FilterText    string          `json:"filterText,omitempty"`
	Preselect     bool            `json:"preselect,omitempty"`
	InsertText    string          `json:"insertText"`
	Rules         int             `json:"insertTextRules,omitempty"` // 1: keep white space, 4: InsertText is a snippet
	Range         CompletionRange `json:"range"`
	Commit        []string        `json:"commitCharacters,omitempty"`
	Additional    []TextEdit      `json:"additionalTextEdits,omitempty"`
	Command       *Command        `json:"command,omitempty"`
	Resolvable
}

// CompletionLabel is the label of a completion and what is shown beside it.
type CompletionLabel struct {
	Label       string `json:"label"`
	Detail      string `json:"detail,omitempty"`
	Description string `json:"description,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]: a label may be a text.
func (l *CompletionLabel) UnmarshalJSON(raw []byte) error {
	*l = CompletionLabel{}
	if json.Unmarshal(raw, &l.Label) == nil {
		return nil
	}
	type plain CompletionLabel
	return json.Unmarshal(raw, (*plain)(l))
}

// CompletionRange is what a completion replaces, if it is inserted before the rest of a word, or
// replaces it.
type CompletionRange struct {
	Insert  Range `json:"insert"`
	Replace Range `json:"replace"`
}

// UnmarshalJSON implements [json.Unmarshaler]: both ranges may be the same.
func (r *CompletionRange) UnmarshalJSON(raw []byte) error {
	type plain CompletionRange
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil || property(raw, "insert") != nil {
		return err
	}
	err := json.Unmarshal(raw, &r.Insert)
	r.Replace = r.Insert
	return err
}

// HierarchyItem is a symbol in a hierarchy of calls or types.
type HierarchyItem struct {
	Session   string     `json:"_sessionId"` // with Item: what [Service.Related] is asked about
	Item      string     `json:"_itemId"`
	Name      string     `json:"name"`
	Detail    string     `json:"detail,omitempty"`
	Kind      SymbolKind `json:"kind"`
	URI       URI        `json:"uri"`
	Range     Range      `json:"range"`
	Selection Range      `json:"selectionRange"`
	// CallsFrom are the ranges of the calls, if the item is the other end of some.
	CallsFrom []Range `json:"fromRanges,omitempty"`
}

// RenameLocation is what would be renamed.
type RenameLocation struct {
	Range Range  `json:"range"`
	Text  string `json:"text"`
}

// ErrRejected means that what is at a position cannot be renamed, or not so; the text of the error says
// why.
var ErrRejected = errors.New("rename rejected")
