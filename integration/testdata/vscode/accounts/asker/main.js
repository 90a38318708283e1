const vscode = require('vscode')

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('asker.' + name, run))
  const changes = []
  context.subscriptions.push(vscode.authentication.onDidChangeSessions(e => changes.push(`${e.provider.id} ${e.provider.label}`)))
  command('session', async (provider, scopes, options) => {
    try {
      const s = await vscode.authentication.getSession(provider, scopes, options ?? undefined)
      return s ? `${s.accessToken} ${s.account.label} ${s.scopes}` : 'none'
    } catch (e) {
      return `${e.name}: ${e.message}`
    }
  })
  command('accounts', async provider => (await vscode.authentication.getAccounts(provider)).map(a => a.label))
  command('changes', () => changes.splice(0))
  command('register', async id => { // 1.139.1 registers later and tells nobody how it went
    const none = { onDidChangeSessions: new vscode.EventEmitter().event, getSessions: async () => [{ id: '1', accessToken: 'false', account: { id: '1', label: 'false' }, scopes: [] }] }
    vscode.authentication.registerAuthenticationProvider(id, 'Of the asker', none)
    return (await vscode.authentication.getAccounts(id)).map(a => a.label)
  })
  command('shout', async () => { // a token in the log, by mistake of the extension
    const s = await vscode.authentication.getSession('program', ['mail'])
    process.stderr.write(`the token is ${s.accessToken}\n`)
  })
}
