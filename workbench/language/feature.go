package language

// Feature is a question that providers answer.
type Feature string

// The features. Their names are those of the command line.
const (
	FeatureHover           Feature = "hover"
	FeatureDefinition      Feature = "definition"
	FeatureDeclaration     Feature = "declaration"
	FeatureTypeDefinition  Feature = "type-definition"
	FeatureImplementation  Feature = "implementation"
	FeatureReferences      Feature = "references"
	FeatureHighlights      Feature = "highlights"
	FeatureCompletion      Feature = "completion"
	FeatureSignature       Feature = "signature"
	FeatureSymbols         Feature = "symbols"
	FeatureWorkspaceSymbol Feature = "workspace-symbols"
	FeatureFormat          Feature = "format"
	FeatureFormatRange     Feature = "format-range"
	FeatureFormatOnType    Feature = "format-on-type"
	FeatureRename          Feature = "rename"
	FeaturePrepareRename   Feature = "prepare-rename"
	FeatureActions         Feature = "actions"
	FeatureLenses          Feature = "lenses"
	FeatureFolding         Feature = "folding"
	FeatureSelections      Feature = "selections"
	FeatureTokens          Feature = "tokens"
	FeatureRangeTokens     Feature = "range-tokens"
	FeatureHints           Feature = "hints"
	FeatureLinks           Feature = "links"
	FeatureColors          Feature = "colors"
	FeaturePresentations   Feature = "presentations" // of a color
	FeatureCallHierarchy   Feature = "calls"
	FeatureTypeHierarchy   Feature = "types"
	FeatureInline          Feature = "inline-completion"
	FeatureLinked          Feature = "linked-editing"

	// The next four ask for an item of [FeatureCallHierarchy] or [FeatureTypeHierarchy] first, and then
	// for its relations, as [Service.Related] does.
	FeatureIncoming   Feature = "incoming-calls"
	FeatureOutgoing   Feature = "outgoing-calls"
	FeatureSupertypes Feature = "supertypes"
	FeatureSubtypes   Feature = "subtypes"
)

// asking is in which order providers are asked.
type asking uint8

const (
	askAll   asking = iota // all at once
	askGroup               // all that fit equally well at once, and the next ones if these have nothing
	askBest                // all that fit best at once; the first one with an answer counts
	askFirst               // one after the other until one has an answer
	askOne                 // only the first one
)

// feature is what is special about a feature.
type feature struct {
	register string // without "MainThreadLanguageFeatures.$register"
	provide  string // without "ExtHostLanguageFeatures.$", as the next two
	release  string // "": nothing is kept in the host
	resolve  string // "": an item has no more parts
	how      asking
	list     string // the property of a result that has the list of items; "": the result itself is one
	single   bool   // a result is one item
	cache    string // the property of a result, or of an item, that is released
	id       string // the property of an item by which it is resolved; "": the item itself
	resolves int    // the argument of the registration that says whether items are resolved; 0: always
	needs    string // the list that a single result must have to count as an answer; "": it always counts
	ended    any    // what the release gets besides the id; nil: nothing
}

// features has all features but those that are made of others (see [FeatureFormat]).
var features = map[Feature]feature{
	FeatureHover:           {register: "HoverProvider", provide: "provideHover", release: "releaseHover", single: true, cache: "id"},
	FeatureDefinition:      {register: "DefinitionSupport", provide: "provideDefinition"},
	FeatureDeclaration:     {register: "DeclarationSupport", provide: "provideDeclaration"},
	FeatureTypeDefinition:  {register: "TypeDefinitionSupport", provide: "provideTypeDefinition"},
	FeatureImplementation:  {register: "ImplementationSupport", provide: "provideImplementation"},
	FeatureReferences:      {register: "ReferenceSupport", provide: "provideReferences"},
	FeatureHighlights:      {register: "DocumentHighlightProvider", provide: "provideDocumentHighlights", how: askFirst},
	FeatureSignature:       {register: "SignatureHelpProvider", provide: "provideSignatureHelp", release: "releaseSignatureHelp", how: askFirst, single: true, cache: "id"},
	FeatureSymbols:         {register: "DocumentSymbolProvider", provide: "provideDocumentSymbols"},
	FeatureWorkspaceSymbol: {register: "NavigateTypeSupport", provide: "provideWorkspaceSymbols", release: "releaseWorkspaceSymbols", resolve: "resolveWorkspaceSymbol", list: "symbols", cache: "cacheId", resolves: 1},
	FeatureFormat:          {register: "DocumentFormattingSupport", provide: "provideDocumentFormattingEdits", how: askFirst},
	FeatureFormatRange:     {register: "RangeFormattingSupport", provide: "provideDocumentRangeFormattingEdits", how: askFirst},
	FeatureFormatOnType:    {register: "OnTypeFormattingSupport", provide: "provideOnTypeFormattingEdits", how: askOne},
	FeatureRename:          {register: "RenameSupport", provide: "provideRenameEdits", how: askFirst, single: true},
	FeatureActions:         {register: "CodeActionSupport", provide: "provideCodeActions", release: "releaseCodeActions", resolve: "resolveCodeAction", list: "actions", cache: "cacheId", id: "cacheId", resolves: 5},
	FeatureLenses:          {register: "CodeLensSupport", provide: "provideCodeLenses", release: "releaseCodeLenses", resolve: "resolveCodeLens", list: "lenses", cache: "cacheId"},
	FeatureFolding:         {register: "FoldingRangeProvider", provide: "provideFoldingRanges"},
	FeatureSelections:      {register: "SelectionRangeProvider", provide: "provideSelectionRanges", single: true},
	FeatureTokens:          {register: "DocumentSemanticTokensProvider", provide: "provideDocumentSemanticTokens", release: "releaseDocumentSemanticTokens", how: askBest, single: true},
	FeatureRangeTokens:     {register: "DocumentRangeSemanticTokensProvider", provide: "provideDocumentRangeSemanticTokens", how: askBest, single: true},
	FeatureHints:           {register: "InlayHintsProvider", provide: "provideInlayHints", release: "releaseInlayHints", resolve: "resolveInlayHint", list: "hints", cache: "cacheId", id: "cacheId", resolves: 2},
	FeatureLinks:           {register: "DocumentLinkProvider", provide: "provideDocumentLinks", release: "releaseDocumentLinks", resolve: "resolveDocumentLink", list: "links", cache: "cacheId", id: "cacheId", resolves: 2},
	FeatureColors:          {register: "DocumentColorProvider", provide: "provideDocumentColors"},
	FeaturePresentations:   {register: "DocumentColorProvider", provide: "provideColorPresentations"},
	FeatureCompletion:      {register: "CompletionsProvider", provide: "provideCompletionItems", release: "releaseCompletionItems", resolve: "resolveCompletionItem", how: askGroup, list: "b", cache: "x", id: "_id", resolves: 3},
	FeaturePrepareRename:   {register: "RenameSupport", provide: "resolveRenameLocation", how: askFirst, single: true},
	FeatureCallHierarchy:   {register: "CallHierarchyProvider", provide: "prepareCallHierarchy", release: "releaseCallHierarchy", how: askOne, cache: sessionID},
	FeatureInline:          {register: "InlineCompletionsSupport", provide: "provideInlineCompletions", release: "freeInlineCompletionsList", list: "items", cache: "pid", ended: map[string]string{"kind": "other"}},
	FeatureLinked:          {register: "LinkedEditingRangeProvider", provide: "provideLinkedEditingRanges", how: askFirst, single: true, needs: "ranges"},
	FeatureTypeHierarchy:   {register: "TypeHierarchyProvider", provide: "prepareTypeHierarchy", release: "releaseTypeHierarchy", how: askOne, cache: sessionID},
}

const (
	sessionID  = "_sessionId"
	mainThread = "MainThreadLanguageFeatures."
	extHost    = "ExtHostLanguageFeatures.$"
)
