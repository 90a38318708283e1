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
	TextDocument struct {
		Hover         struct{ ContentFormat []string }
		SignatureHelp struct {
			SignatureInformation struct{ DocumentationFormat []string }
		}
		DocumentSymbol struct{ HierarchicalDocumentSymbolSupport bool }
		CodeAction     struct {
			CodeActionLiteralSupport *struct{}
			ResolveSupport           struct{ Properties []string }
		}
		Completion struct {
			CompletionItem struct {
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

// offered are the capabilities of the server. Which extensions will register what is not known before
// they are active, so that all that can be asked is offered.
func (c *session) offered() map[string]any {
	resolves := map[string]bool{"resolveProvider": true}
	return map[string]any{
		"positionEncoding": "utf-16",
		"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": map[string]bool{"includeText": false}},
		"hoverProvider":    true, "definitionProvider": true, "declarationProvider": true, "typeDefinitionProvider": true,
		"implementationProvider": true, "referencesProvider": true, "documentHighlightProvider": true,
		"completionProvider":      map[string]any{"resolveProvider": true, "triggerCharacters": []string{".", ":", "<", "\"", "'", "/", "@", "#", "-"}},
		"signatureHelpProvider":   map[string]any{"triggerCharacters": []string{"(", ",", "<"}},
		"documentSymbolProvider":  true,
		"workspaceSymbolProvider": true, "documentFormattingProvider": true, "documentRangeFormattingProvider": true,
		"renameProvider":         map[string]bool{"prepareProvider": true},
		"codeActionProvider":     resolves,
		"codeLensProvider":       resolves,
		"foldingRangeProvider":   true,
		"selectionRangeProvider": true,
		"semanticTokensProvider": map[string]any{
			"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers}, "full": true,
		},
		"inlayHintProvider":      true,
		"documentLinkProvider":   map[string]any{},
		"executeCommandProvider": map[string]any{"commands": []string{c.s.commandName()}},
	}
}
