package lsp

import "slices"

// capabilities are those of a client that make a difference.
type capabilities struct {
	Workspace struct {
		WorkspaceEdit struct {
			DocumentChanges    bool
			ResourceOperations []string
		}
	}
	Window       struct{ WorkDoneProgress bool }
	TextDocument struct {
		Synchronization  struct{ WillSave, WillSaveWaitUntil bool }
		Hover            struct{ ContentFormat []string }
		OnTypeFormatting struct{ DynamicRegistration bool }
		SignatureHelp    struct {
			DynamicRegistration  bool
			SignatureInformation struct{ DocumentationFormat []string }
		}
		DocumentSymbol struct{ HierarchicalDocumentSymbolSupport bool }
		CodeAction     struct {
			CodeActionLiteralSupport *struct{}
			ResolveSupport           struct{ Properties []string }
		}
		Completion struct {
			DynamicRegistration bool
			CompletionItem      struct {
				SnippetSupport       bool
				InsertReplaceSupport bool
				LabelDetailsSupport  bool
				DocumentationFormat  []string
			}
		}
	}
}

// edit returns the edit of one document.
func (c *capabilities) edit(uri string, version int, edits []textEdit) any {
	if !c.Workspace.WorkspaceEdit.DocumentChanges {
		return map[string]any{"changes": map[string]any{uri: edits}}
	}
	return map[string]any{"documentChanges": []any{documentEdit{documentID{uri, &version}, edits}}}
}

// can reports whether the client carries out an operation on files.
func (c *capabilities) can(operation string) bool {
	e := c.Workspace.WorkspaceEdit
	return e.DocumentChanges && slices.Contains(e.ResourceOperations, operation)
}

// announcesSaves reports whether the client tells that it is about to save a document, and cannot ask what is to
// be changed before. A client that can do both would have extensions take part twice.
func (c *capabilities) announcesSaves() bool {
	can := c.TextDocument.Synchronization
	return can.WillSave && !can.WillSaveWaitUntil
}

// offered are the capabilities of the server. Which extensions will register what is not known before
// they are active, so that all that can be asked is offered.
func (c *session) offered() map[string]any {
	resolves := map[string]bool{"resolveProvider": true}
	out := map[string]any{
		"positionEncoding": "utf-16",
		"textDocumentSync": map[string]any{"openClose": true, "change": 2, "willSave": c.caps.announcesSaves(), "willSaveWaitUntil": true, "save": map[string]bool{"includeText": false}},
		"hoverProvider":    true, "definitionProvider": true, "declarationProvider": true, "typeDefinitionProvider": true,
		"implementationProvider": true, "referencesProvider": true, "documentHighlightProvider": true,
		"documentSymbolProvider":  true,
		"workspaceSymbolProvider": true, "documentFormattingProvider": true, "documentRangeFormattingProvider": true,
		"renameProvider":         map[string]bool{"prepareProvider": true},
		"codeActionProvider":     resolves,
		"codeLensProvider":       resolves,
		"foldingRangeProvider":   true,
		"selectionRangeProvider": true,
		"semanticTokensProvider": map[string]any{
			"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers}, "full": map[string]bool{"delta": true}, "range": true,
		},
		"inlayHintProvider":          resolves,
		"callHierarchyProvider":      true,
		"typeHierarchyProvider":      true,
		"colorProvider":              true,
		"linkedEditingRangeProvider": true,
		"inlineCompletionProvider":   true,
		"documentLinkProvider":       map[string]any{},
		"executeCommandProvider":     map[string]any{"commands": []string{c.s.commandName()}, "workDoneProgress": true},
	}
	c.offerTriggered(out)
	return out
}
