// Its language has no provider until the test says so, and then one that knows nothing.
const vscode = require('vscode')

exports.activate = context => {
  let last
  const at = p => `${p.line}:${p.character}`
  context.subscriptions.push(
    vscode.commands.registerCommand('builtin.provide', how => {
      last?.dispose()
      last = vscode.languages.registerFoldingRangeProvider('other', { provideFoldingRanges: () => how === 'none' ? [] : undefined })
    }),
    vscode.commands.registerCommand('builtin.ask', async path => {
      const uri = vscode.Uri.file(path)
      const run = (name, ...args) => vscode.commands.executeCommand(`vscode.${name}`, uri, ...args)
      const folds = await run('executeFoldingRangeProvider')
      const highlights = await run('executeDocumentHighlights', new vscode.Position(2, 4))
      const chain = []
      for (let s = (await run('executeSelectionRangeProvider', [new vscode.Position(2, 4)]))[0]; s; s = s.parent) chain.push(`${at(s.range.start)}-${at(s.range.end)}`)
      return [folds.map(f => `${f.start}-${f.end}`).join(' '), highlights.map(h => at(h.range.start)).join(' '), chain.join(' ')]
    }),
  )
}
