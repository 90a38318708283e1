const vscode = require('vscode')

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('asker.' + name, run))
  const text = result => result.content.map(part => part.value).join()
  command('list', () => vscode.lm.tools.map(t => [t.name, t.description, t.tags.join(), t.inputSchema?.required?.join() ?? '']))
  command('add', async (...numbers) => text(await vscode.lm.invokeTool('acme_add', {
    input: { numbers }, tokenizationOptions: { tokenBudget: 100, countTokens: async t => t.split(' ').length },
  })))
  command('refused', async (name, input) => {
    try { return text(await vscode.lm.invokeTool(name, { input })) } catch (e) { return e.message }
  })
  command('cancel', async () => {
    const source = new vscode.CancellationTokenSource()
    const result = vscode.lm.invokeTool('acme_add', { input: { numbers: [1], forever: true } }, source.token)
    setTimeout(() => source.cancel(), 50)
    try { return text(await result) } catch (e) { return e.message }
  })
}
