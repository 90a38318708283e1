const vscode = require('vscode')

// A provider of accounts: each session that it makes is of another account, unless one is named.
exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('keyring.' + name, run))
  const changed = new vscode.EventEmitter()
  const counts = { get: 0, create: 0 }
  let sessions = []
  let last = 0
  const provider = {
    onDidChangeSessions: changed.event,
    async getSessions(scopes, options) {
      counts.get++
      return sessions.filter(s => (!options.account || options.account.id === s.account.id) && (scopes ?? []).every(w => s.scopes.includes(w)))
    },
    async createSession(scopes, options) {
      if (scopes.includes('broken')) throw new Error('the keyring is locked')
      counts.create++
      last++
      const account = options.account ?? { id: `${last}`, label: `user ${last}` }
      const session = { id: `s${last}`, accessToken: `keyring-token-${last}`, account, scopes: [...scopes] }
      sessions.push(session)
      changed.fire({ added: [session], removed: [], changed: [] })
      return session
    },
    async removeSession(id) {
      const removed = sessions.filter(s => s.id === id)
      sessions = sessions.filter(s => s.id !== id)
      changed.fire({ added: [], removed, changed: [] })
    },
  }
  context.subscriptions.push(vscode.authentication.registerAuthenticationProvider('acme', 'Acme', provider, { supportsMultipleAccounts: true }))
  command('own', async options => {
    try { return (await vscode.authentication.getSession('acme', ['read'], options))?.accessToken ?? 'none' } catch (e) { return `${e.name}: ${e.message}` }
  })
  command('drop', async () => { for (const s of [...sessions]) await provider.removeSession(s.id) })
  command('counts', () => counts)
}
