// A language of words: "def x" defines x, every other x is a reference.
const vscode = require('vscode')
const fs = require('fs')

const words = document => {
  const out = []
  for (const m of document.getText().matchAll(/\w+/g)) {
    out.push({ text: m[0], range: new vscode.Range(document.positionAt(m.index), document.positionAt(m.index + m[0].length)) })
  }
  return out
}
const at = (document, position) => document.getText(document.getWordRangeAtPosition(position))
const places = (document, position) => words(document).filter(w => w.text === at(document, position))
const location = (document, w) => new vscode.Location(document.uri, w.range)
const defined = document => words(document).filter((w, i, all) => i > 0 && all[i - 1].text === 'def')
const symbol = w => new vscode.DocumentSymbol(w.text, 'a word', vscode.SymbolKind.Variable, w.range, w.range)

exports.activate = context => {
  const on = 'acme'
  const provide = (kind, provider, ...more) => context.subscriptions.push(vscode.languages[`register${kind}Provider`](on, provider, ...more))
  provide('Hover', {
    provideHover(document, position) {
      const word = at(document, position)
      if (word === 'bad') throw new Error('this word is bad')
      // It kills its host as often as the file says.
      if (word === 'die') {
        const file = document.uri.fsPath + '.deaths'
        const left = Number(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 0)
        if (left > 0) {
          fs.writeFileSync(file, String(left - 1))
          process.kill(process.pid, 'SIGKILL')
          return new Promise(() => {})
        }
      }
      // It never answers while there is a file that says so.
      if (word === 'hang' && fs.existsSync(document.uri.fsPath + '.hang')) {
        fs.writeFileSync(document.uri.fsPath + '.asked', '')
        return new Promise(() => {})
      }
      return word ? new vscode.Hover(`speaker: ${word}`) : undefined
    },
  })
  provide('Definition', { provideDefinition: (d, p) => defined(d).filter(w => w.text === at(d, p)).map(w => location(d, w)) })
  provide('Declaration', {
    provideDeclaration: (d, p) => places(d, p).slice(0, 1).map(w => ({ targetUri: d.uri, targetRange: w.range, targetSelectionRange: w.range })),
  })
  provide('TypeDefinition', { provideTypeDefinition: (d, p) => location(d, places(d, p)[0]) })
  provide('Implementation', { provideImplementation: (d, p) => [] })
  provide('Reference', { provideReferences: (d, p) => places(d, p).map(w => location(d, w)) })
  provide('DocumentHighlight', { provideDocumentHighlights: (d, p) => places(d, p).map(w => new vscode.DocumentHighlight(w.range, 2)) })
  provide('DocumentSymbol', { provideDocumentSymbols: d => defined(d).map(symbol).reverse() })
  context.subscriptions.push(vscode.languages.registerWorkspaceSymbolProvider({
    provideWorkspaceSymbols: q => [new vscode.SymbolInformation(`found ${q}`, vscode.SymbolKind.Class, 'box', new vscode.Location(vscode.Uri.file('/f.acme'), new vscode.Position(1, 2)))],
  }))
  provide('CompletionItem', {
    provideCompletionItems: (d, p, token, c) => [
      { label: 'zebra', sortText: 'a', kind: vscode.CompletionItemKind.Keyword, command: { command: 'speaker.said', title: 't', arguments: [new Map([['a', 1]])] } },
      { label: { label: 'alpha', detail: '()' }, insertText: new vscode.SnippetString('alpha($1)'), commitCharacters: ['.', ';'] },
      { label: `typed ${c.triggerCharacter}` },
    ],
    resolveCompletionItem(item) {
      item.detail = 'resolved'
      item.documentation = new vscode.MarkdownString('**doc**')
      return item
    },
  }, '.')
  provide('SignatureHelp', {
    provideSignatureHelp() {
      const help = new vscode.SignatureHelp()
      help.signatures = [new vscode.SignatureInformation('f(a, b)', 'doc')]
      help.signatures[0].parameters = [new vscode.ParameterInformation('a'), new vscode.ParameterInformation('b')]
      help.activeSignature = 0
      help.activeParameter = 1
      return help
    },
  }, '(')
  provide('DocumentFormattingEdit', {
    provideDocumentFormattingEdits(d, o) {
      const text = d.getText()
      if (text.startsWith('tidy')) { // as formatters do it: all of the document
        return [vscode.TextEdit.replace(new vscode.Range(0, 0, d.lineCount, 0), text.replace(/ +/g, ' ')), vscode.TextEdit.setEndOfLine(vscode.EndOfLine.CRLF)]
      }
      return [vscode.TextEdit.replace(new vscode.Range(0, 0, 0, 3), `DEF${o.tabSize}${o.insertSpaces}`.toUpperCase())]
    },
  })
  provide('OnTypeFormattingEdit', { provideOnTypeFormattingEdits: (d, p, ch) => [vscode.TextEdit.insert(p, `after ${ch}`)] }, ';')
  provide('Rename', {
    prepareRename(d, p) {
      if (at(d, p) === 'def') throw new Error('a keyword stays')
      return d.getWordRangeAtPosition(p)
    },
    provideRenameEdits(d, p, name) {
      if (at(d, p) === 'def') throw new Error('a keyword stays')
      const edit = new vscode.WorkspaceEdit()
      for (const w of places(d, p)) edit.replace(d.uri, w.range, name)
      return edit
    },
  })
  provide('CodeActions', {
    provideCodeActions: (d, range, c) => {
      const plain = new vscode.CodeAction('extract it', vscode.CodeActionKind.RefactorExtract)
      const preferred = new vscode.CodeAction('fix it', vscode.CodeActionKind.QuickFix)
      preferred.isPreferred = true
      preferred.command = { command: 'speaker.said', title: 'said', arguments: [d, new Set([7])] }
      const off = new vscode.CodeAction('never', vscode.CodeActionKind.QuickFix)
      off.disabled = { reason: 'because' }
      return [plain, preferred, off].filter(a => !c.only || c.only.contains(a.kind))
    },
    resolveCodeAction(action) {
      action.edit = new vscode.WorkspaceEdit()
      action.edit.insert(vscode.Uri.file('/made.acme'), new vscode.Position(0, 0), action.title)
      return action
    },
  }, { providedCodeActionKinds: [vscode.CodeActionKind.Refactor, vscode.CodeActionKind.QuickFix] })
  provide('CodeLens', {
    provideCodeLenses: d => defined(d).map(w => new vscode.CodeLens(w.range)),
    resolveCodeLens(lens) {
      lens.command = { command: 'speaker.said', title: 'resolved', arguments: [1] }
      return lens
    },
  })
  provide('FoldingRange', { provideFoldingRanges: () => [new vscode.FoldingRange(1, 2, vscode.FoldingRangeKind.Region), new vscode.FoldingRange(0, 2)] })
  provide('SelectionRange', {
    provideSelectionRanges: (d, ps) => ps.map(p => new vscode.SelectionRange(d.getWordRangeAtPosition(p), new vscode.SelectionRange(d.lineAt(p.line).range))),
  })
  const legend = new vscode.SemanticTokensLegend(['keyword', 'variable'], ['declaration', 'static'])
  provide('DocumentSemanticTokens', {
    provideDocumentSemanticTokens(d) {
      const b = new vscode.SemanticTokensBuilder(legend)
      words(d).forEach((w, i, all) => b.push(w.range, w.text === 'def' ? 'keyword' : 'variable', i > 0 && all[i - 1].text === 'def' ? ['declaration'] : []))
      return b.build()
    },
  }, legend)
  provide('InlayHints', {
    provideInlayHints: (d, range) => [
      Object.assign(new vscode.InlayHint(new vscode.Position(2, 1), [new vscode.InlayHintLabelPart('b'), new vscode.InlayHintLabelPart('c')], 1)),
      new vscode.InlayHint(new vscode.Position(0, 1), `from ${range.start.line} to ${range.end.line}`, 2),
    ],
    resolveInlayHint(hint) {
      hint.tooltip = 'why'
      return hint
    },
  })
  provide('DocumentLink', {
    provideDocumentLinks: () => [new vscode.DocumentLink(new vscode.Range(0, 4, 0, 8)), new vscode.DocumentLink(new vscode.Range(0, 0, 0, 5), vscode.Uri.parse('https://a.example/x'))],
    resolveDocumentLink(link) {
      link.target = vscode.Uri.parse('https://b.example/')
      return link
    },
  })
  provide('InlineCompletionItem', {
    provideInlineCompletionItems(d, p, c) {
      const first = `inline ${c.triggerKind} ${c.selectedCompletionInfo?.text}`
      return [
        { insertText: first, range: d.getWordRangeAtPosition(p), command: { command: 'speaker.said', title: 't', arguments: [new Map()] } },
        { insertText: new vscode.SnippetString('snip($1)'), filterText: 's' },
      ]
    },
  })
  provide('LinkedEditingRange', {
    provideLinkedEditingRanges: (d, p) => at(d, p) === 'def' ? undefined : new vscode.LinkedEditingRanges(places(d, p).map(w => w.range), /[a-z]+/),
  })
  provide('Color', {
    provideDocumentColors: () => [new vscode.ColorInformation(new vscode.Range(0, 0, 0, 3), new vscode.Color(1, 0, 0.5, 1))],
    provideColorPresentations: color => [new vscode.ColorPresentation(`rgb ${color.red} ${color.green} ${color.blue}`)],
  })
  const item = (kind, d, w, name) => new kind(vscode.SymbolKind.Function, name ?? w.text, 'a word', d.uri, w.range, w.range)
  const call = (d, w, name) => item(vscode.CallHierarchyItem, d, w, name)
  provide('CallHierarchy', {
    prepareCallHierarchy: (d, p) => call(d, places(d, p)[0]),
    async provideCallHierarchyIncomingCalls(i) {
      const d = await vscode.workspace.openTextDocument(i.uri)
      return [new vscode.CallHierarchyIncomingCall(call(d, { range: i.range }, `caller of ${i.name}`), [i.range])]
    },
    async provideCallHierarchyOutgoingCalls(i) {
      const d = await vscode.workspace.openTextDocument(i.uri)
      return [new vscode.CallHierarchyOutgoingCall(call(d, { range: i.range }, `called by ${i.name}`), [i.range])]
    },
  })
  const type = (d, w, name) => new vscode.TypeHierarchyItem(vscode.SymbolKind.Class, name, 'a type', d.uri, w.range, w.range)
  provide('TypeHierarchy', {
    prepareTypeHierarchy: (d, p) => type(d, places(d, p)[0], at(d, p)),
    provideTypeHierarchySupertypes: async i => [type(await vscode.workspace.openTextDocument(i.uri), i, `super ${i.name}`)],
    provideTypeHierarchySubtypes: async i => [type(await vscode.workspace.openTextDocument(i.uri), i, `sub ${i.name}`)],
  })
  const problems = vscode.languages.createDiagnosticCollection('words')
  const look = d => {
    if (d.languageId !== on) return
    problems.set(d.uri, words(d).filter(w => w.text === 'bad').map(w => Object.assign(new vscode.Diagnostic(w.range, 'a bad word', 1), { source: 'speaker', code: 7 })))
  }
  vscode.workspace.textDocuments.forEach(look)
  context.subscriptions.push(problems, vscode.workspace.onDidOpenTextDocument(look))
  let said = ''
  context.subscriptions.push(vscode.commands.registerCommand('speaker.said', (...args) => {
    if (args.length > 0) said = args.map(a => a?.constructor?.name).join(' ')
    return said
  }))
}
