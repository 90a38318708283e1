const vscode = require('vscode')
const { window } = vscode

// hidden shows a picker or an input box and waits until it is hidden.
const hidden = input => new Promise(done => {
  input.title = 'one of my own'
  input.onDidHide(() => { input.dispose(); done('hidden') })
  input.show()
})

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('asks.' + name, run))
  command('all', async () => ({
    plain: await window.showInformationMessage('the index is ready') ?? null,
    choice: await window.showWarningMessage('delete it?', 'Yes', 'No') ?? null,
    modal: (await window.showErrorMessage('really?', { modal: true, detail: 'all of it' }, { title: 'Yes' }, { title: 'Keep', isCloseAffordance: true }))?.title ?? null,
    pick: await window.showQuickPick(['a', 'b'], { title: 'which letter' }) ?? null,
    later: await window.showQuickPick(Promise.resolve(['a'])) ?? null,
    input: await window.showInputBox({ prompt: 'your name' }) ?? null,
    open: await window.showOpenDialog({ openLabel: 'Take' }) ?? null,
    save: await window.showSaveDialog({}) ?? null,
    quick: await hidden(window.createQuickPick()),
    box: await hidden(window.createInputBox()),
  }))
  command('console', () => {
    for (let i = 0; i < 100; i++) console.error('line', i, { of: ['an', 'extension'] })
  })
  command('often', async n => {
    for (let i = 0; i < n; i++) await window.showInformationMessage('message ' + i)
  })
}
