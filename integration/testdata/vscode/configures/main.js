const vscode = require('vscode')

const scope = (at) => at && (at.path
  ? (at.languageId ? { uri: vscode.Uri.file(at.path), languageId: at.languageId } : vscode.Uri.file(at.path))
  : { languageId: at.languageId })

exports.activate = (context) => {
  const seen = []
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((e) => {
      for (const name of ['configures.window', 'configures.resource', 'configures.language', 'configures.map', 'editor.tabSize']) {
        if (e.affectsConfiguration(name)) seen.push(name)
      }
    }),
    vscode.commands.registerCommand('configures.update', async ({ name, value, target, at, language }) => {
      seen.length = 0
      try {
        await vscode.workspace.getConfiguration(undefined, scope(at)).update(name, value === null ? undefined : value, target, language)
      } catch (e) {
        return { error: e.message, seen: [...seen] }
      }
      return { value: vscode.workspace.getConfiguration(undefined, scope(at)).get(name), seen: [...seen] }
    }),
    vscode.commands.registerCommand('configures.inspect', ({ name, at }) => ({
      value: vscode.workspace.getConfiguration(undefined, scope(at)).get(name),
      inspect: vscode.workspace.getConfiguration(undefined, scope(at)).inspect(name),
    })),
  )
}
