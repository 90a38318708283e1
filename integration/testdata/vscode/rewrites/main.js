// It changes documents by a command that it offers as a code action, and by itself.
const vscode = require('vscode')

exports.activate = context => {
  const loud = async uris => {
    const edit = new vscode.WorkspaceEdit()
    for (const uri of uris) edit.replace(uri, new vscode.Range(0, 0, 0, 3), 'LOUD')
    return vscode.workspace.applyEdit(edit)
  }
  let saved = 0
  context.subscriptions.push(
    vscode.commands.registerCommand('rewrites.loud', (...paths) => loud(paths.map(vscode.Uri.file))),
    vscode.commands.registerCommand('rewrites.saved', () => saved),
    vscode.commands.registerCommand('rewrites.text', path => {
      const d = vscode.workspace.textDocuments.find(d => d.uri.fsPath === path)
      return d && `${d.languageId} ${d.isDirty} ${d.getText()}`
    }),
    vscode.commands.registerCommand('rewrites.die', () => process.kill(process.pid, 'SIGKILL')),
    vscode.workspace.onDidSaveTextDocument(() => saved++),
    vscode.languages.registerCodeActionsProvider('acme', {
      provideCodeActions: d => {
        const a = new vscode.CodeAction('make it loud', vscode.CodeActionKind.Source)
        a.command = { command: 'rewrites.loud', title: 'loud', arguments: [d.uri.fsPath, d.uri.fsPath.replace('a.acme', 'b.acme')] }
        return [a]
      },
    }),
    // A document that is saved gets its reason in the place of "why".
    vscode.workspace.onWillSaveTextDocument(e => {
      if (!e.document.getText().startsWith('why')) return
      e.waitUntil(Promise.resolve([vscode.TextEdit.replace(new vscode.Range(0, 0, 0, 3), `because ${e.reason}`)]))
    }),
    // A document that says "change me" is changed without being asked.
    vscode.workspace.onDidChangeTextDocument(e => {
      if (e.document.getText().startsWith('change me')) {
        const edit = new vscode.WorkspaceEdit()
        edit.replace(e.document.uri, new vscode.Range(0, 0, 0, 9), 'changed')
        vscode.workspace.applyEdit(edit)
      }
    }),
  )
}
