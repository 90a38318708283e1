package documents

import (
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Methods of hosts.
const (
	methodDelta     = "ExtHostDocumentsAndEditors.$acceptDocumentsAndEditorsDelta"
	methodChanged   = "ExtHostDocuments.$acceptModelChanged"
	methodSaved     = "ExtHostDocuments.$acceptModelSaved"
	methodDirty     = "ExtHostDocuments.$acceptDirtyStateChanged"
	methodLanguage  = "ExtHostDocuments.$acceptModelLanguageChanged"
	methodEncoding  = "ExtHostDocuments.$acceptEncodingChanged"
	methodEditor    = "ExtHostEditors.$acceptEditorPropertiesChanged"
	methodPositions = "ExtHostEditors.$acceptEditorPositionData"
	methodTabs      = "ExtHostEditorTabs.$acceptEditorTabModel"
	methodTab       = "ExtHostEditorTabs.$acceptTabOperation"
	methodWillSave  = "ExtHostDocumentSaveParticipant.$participateInSave"
	methodContent   = "ExtHostDocumentContentProviders.$provideTextDocumentContent"
	methodWillRun   = "ExtHostFileSystemEventService.$onWillRunFileOperation"
	methodFilesRun  = "ExtHostFileSystemEventService.$onDidRunFileOperation"
)

type documentDTO struct {
	URI      workbench.URI `json:"uri"`
	Version  int           `json:"versionId"`
	Lines    lines         `json:"lines"`
	EOL      text.EOL      `json:"EOL"`
	Language string        `json:"languageId"`
	Dirty    bool          `json:"isDirty"`
	Encoding string        `json:"encoding"`
}

type editorDTO struct {
	ID         string        `json:"id"`
	Document   workbench.URI `json:"documentUri"`
	Options    editorOptions `json:"options"`
	Selections []Selection   `json:"selections"`
	Visible    []text.Range  `json:"visibleRanges"`
	Position   int           `json:"editorPosition"`
}

// Selection is a selection or a cursor in an editor; lines and columns begin at 1.
type Selection struct {
	AnchorLine   int `json:"selectionStartLineNumber"`
	AnchorColumn int `json:"selectionStartColumn"`
	ActiveLine   int `json:"positionLineNumber"`
	ActiveColumn int `json:"positionColumn"`
}

type editorOptions struct {
	TabSize      int  `json:"tabSize"`
	IndentSize   int  `json:"indentSize"`
	OwnIndent    any  `json:"originalIndentSize"`
	InsertSpaces bool `json:"insertSpaces"`
	Cursor       int  `json:"cursorStyle"`
	LineNumbers  int  `json:"lineNumbers"`
}

type delta struct {
	RemovedDocuments []workbench.URI `json:"removedDocuments,omitempty"`
	AddedDocuments   []documentDTO   `json:"addedDocuments,omitempty"`
	RemovedEditors   []string        `json:"removedEditors,omitempty"`
	AddedEditors     []editorDTO     `json:"addedEditors,omitempty"`
	// ActiveEditor is absent if it is unchanged, and null if no editor is active.
	ActiveEditor **string `json:"newActiveEditor,omitempty"`
}

type groupDTO struct {
	ID     int      `json:"groupId"`
	Active bool     `json:"isActive"`
	Column int      `json:"viewColumn"`
	Tabs   []tabDTO `json:"tabs"`
}

type tabDTO struct {
	ID      string   `json:"id"`
	Label   string   `json:"label"`
	Editor  string   `json:"editorId"`
	Input   tabInput `json:"input"`
	Pinned  bool     `json:"isPinned"`
	Preview bool     `json:"isPreview"`
	Active  bool     `json:"isActive"`
	Dirty   bool     `json:"isDirty"`
}

type tabInput struct {
	Kind int           `json:"kind"` // 1: a text
	URI  workbench.URI `json:"uri"`
}

// Kinds of tabOperation.
const (
	tabOpened = iota
	tabClosed
	tabUpdated
)

type tabOperation struct {
	Kind  int    `json:"kind"`
	Group int    `json:"groupId"`
	Index int    `json:"index"`
	Tab   tabDTO `json:"tabDto"`
}
