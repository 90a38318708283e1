// It works until it is told to finish or a user cancels it, and shows a progress meanwhile.
const vscode = require('vscode')
const fs = require('fs')

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('works.' + name, run))
  let finish, outcome
  command('run', (cancellable = true) => {
    const options = { location: vscode.ProgressLocation.Notification, title: 'Working', cancellable }
    return vscode.window.withProgress(options, async (progress, token) => {
      progress.report({ message: 'half', increment: 50 })
      outcome = await new Promise(done => {
        finish = () => done('finished')
        token.onCancellationRequested(() => done('canceled'))
      })
      return outcome
    })
  })
  command('finish', () => finish())
  command('outcome', () => outcome)
  // It never returns, and a file has a line for each time that it began.
  command('hang', path => {
    fs.appendFileSync(path, 'began\n')
    return new Promise(() => {})
  })
  const saves = []
  context.subscriptions.push(
    vscode.workspace.onWillSaveTextDocument(e => {
      saves.push('will ' + e.reason)
      e.waitUntil(Promise.resolve([vscode.TextEdit.insert(new vscode.Position(0, 0), 'saved ')]))
    }),
    vscode.workspace.onDidSaveTextDocument(() => saves.push('did')),
  )
  command('saves', () => saves.splice(0).join(', '))
}
