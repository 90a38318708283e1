const vscode = require('vscode')

const names = (list) => (list || []).map((f) => `${f.name}=${f.uri.path}`)

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand('joins.update', async ({ start, remove, add }) => {
      const seen = new Promise((resolve) => {
        const watching = vscode.workspace.onDidChangeWorkspaceFolders((e) => {
          watching.dispose()
          resolve({ added: names(e.added), removed: names(e.removed), folders: names(vscode.workspace.workspaceFolders) })
        })
      })
      const folders = add.map((f) => ({ uri: f.uri ? vscode.Uri.parse(f.uri) : vscode.Uri.file(f.path), name: f.name }))
      return vscode.workspace.updateWorkspaceFolders(start, remove, ...folders) ? seen : null
    }),
    vscode.commands.registerCommand('joins.ask', (path) => vscode.workspace.updateWorkspaceFolders(0, 0, { uri: vscode.Uri.file(path) })),
    vscode.commands.registerCommand('joins.active', (id) => vscode.extensions.getExtension(id).isActive),
    vscode.commands.registerCommand('joins.repositories', async () => {
      const git = await vscode.extensions.getExtension('vscode.git').activate()
      return git.getAPI(1).repositories.map((r) => r.rootUri.path)
    }),
    vscode.commands.registerCommand('joins.folders', () => names(vscode.workspace.workspaceFolders)),
  )
}
