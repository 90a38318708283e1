// Opens, changes and saves documents with the public API.
const vscode = require('vscode')

const about = d => ({
  uri: d.uri.toString(), text: d.getText(), language: d.languageId, dirty: d.isDirty, version: d.version, lines: d.lineCount,
  crlf: d.eol === vscode.EndOfLine.CRLF, untitled: d.isUntitled, closed: d.isClosed,
})
const events = []
let participates = ''

const state = () => ({
  documents: vscode.workspace.textDocuments.map(about),
  active: vscode.window.activeTextEditor?.document.uri.toString() ?? null,
  selection: vscode.window.activeTextEditor ? [vscode.window.activeTextEditor.selection.active.line, vscode.window.activeTextEditor.selection.active.character] : null,
  visible: vscode.window.visibleTextEditors.length,
  tabs: vscode.window.tabGroups.all.flatMap(g => g.tabs.map(t => `${g.viewColumn} ${t.label}${t.isActive ? ' active' : ''}${t.isDirty ? ' dirty' : ''}`)),
  events,
})

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('writer.' + name, run))
  const { workspace, window, Uri } = vscode
  workspace.onDidOpenTextDocument(d => events.push('open ' + d.uri.path.split('/').pop()))
  workspace.onDidCloseTextDocument(d => events.push('close ' + d.uri.path.split('/').pop()))
  workspace.onDidSaveTextDocument(d => events.push('save ' + d.uri.path.split('/').pop()))
  workspace.onDidChangeTextDocument(e => {
    if (e.contentChanges.length > 0) {
      events.push('change ' + e.document.uri.path.split('/').pop() + ' ' + e.contentChanges.length + (e.reason ? ' reason ' + e.reason : ''))
    }
  })
  workspace.onWillSaveTextDocument(e => {
    if (participates === 'edit') {
      e.waitUntil(Promise.resolve([vscode.TextEdit.insert(new vscode.Position(0, 0), '// saved\n')]))
    }
  })
  command('open', async path => about(await workspace.openTextDocument(Uri.file(path))))
  command('create', async (content, language) => about(await workspace.openTextDocument({ content, language })))
  command('edit', async (path, text, line = 0, character = 0) => {
    const editor = await window.showTextDocument(await workspace.openTextDocument(Uri.file(path)))
    const done = await editor.edit(b => b.insert(new vscode.Position(line, character), text))
    return { done, ...about(editor.document) }
  })
  command('many', async dir => {
    const edit = new vscode.WorkspaceEdit()
    const [a, b, c, d] = ['a.txt', 'b.txt', 'c.txt', 'd.txt'].map(n => Uri.file(dir + '/' + n))
    edit.insert(a, new vscode.Position(0, 0), 'A')
    edit.renameFile(b, c)
    edit.replace(c, new vscode.Range(0, 0, 0, 1), 'C')
    edit.createFile(d, { contents: Buffer.from('one\n') })
    edit.insert(d, new vscode.Position(1, 0), 'two\n')
    const done = await workspace.applyEdit(edit)
    return { done, ...state() }
  })
  command('wrong', async dir => {
    const edit = new vscode.WorkspaceEdit()
    edit.insert(Uri.file(dir + '/a.txt'), new vscode.Position(0, 0), 'no')
    edit.createFile(Uri.file(dir + '/new.txt'))
    edit.renameFile(Uri.file(dir + '/no.txt'), Uri.file(dir + '/no2.txt'))
    return workspace.applyEdit(edit)
  })
  command('save', async (path, how) => {
    participates = how
    const d = await workspace.openTextDocument(Uri.file(path))
    return { done: await d.save(), ...about(d) }
  })
  command('command', (name, ...args) => vscode.commands.executeCommand(name, ...args))
  command('virtual', async () => {
    const changed = new vscode.EventEmitter()
    let text = 'first\n'
    workspace.registerTextDocumentContentProvider('made', { onDidChange: changed.event, provideTextDocumentContent: u => u.path === '/none' ? undefined : text + u.path })
    const d = await workspace.openTextDocument(Uri.parse('made:/x'))
    const before = d.getText()
    const seen = new Promise(resolve => workspace.onDidChangeTextDocument(e => e.document === d && resolve(d.getText())))
    text = 'second\n'
    changed.fire(d.uri)
    const refused = await workspace.openTextDocument(Uri.parse('made:/none')).then(() => '', e => e.message)
    return [before, await seen, refused]
  })
  command('diagnose', (path, message) => {
    const list = vscode.languages.createDiagnosticCollection('writer')
    list.set(Uri.file(path), [new vscode.Diagnostic(new vscode.Range(0, 1, 0, 2), message, vscode.DiagnosticSeverity.Warning)])
  })
  command('state', state)
  command('snippet', async (path, snippet) => {
    const editor = await window.showTextDocument(Uri.file(path))
    const moved = new Promise(resolve => window.onDidChangeTextEditorSelection(e => resolve([e.selections[0].start.character, e.selections[0].end.character])))
    const done = await editor.insertSnippet(new vscode.SnippetString(snippet), new vscode.Position(0, 0))
    return { done, text: editor.document.getText(), selection: await moved }
  })
  command('language', async (path, id) => (await vscode.languages.setTextDocumentLanguage(await workspace.openTextDocument(Uri.file(path)), id)).languageId)
  command('tabs', async (one, two) => {
    await window.showTextDocument(Uri.file(one), { preview: false })
    await window.showTextDocument(Uri.file(two), { viewColumn: vscode.ViewColumn.Beside, preview: false })
    const { visible, tabs } = state()
    const closed = await window.tabGroups.close(window.tabGroups.all[1].tabs[0])
    return [visible, tabs, closed, state().tabs]
  })
}
