const vscode = require('vscode')
const { window } = vscode

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('shows.' + name, run))
  const running = {}
  let item, language

  command('entries', () => {
    item = window.createStatusBarItem('branch', vscode.StatusBarAlignment.Left, 10)
    Object.assign(item, {
      name: 'Branch', text: '$(git-branch) main* $(sync~spin)', tooltip: new vscode.MarkdownString('on **main**'), command: 'shows.hide',
      backgroundColor: new vscode.ThemeColor('statusBarItem.warningBackground'),
    })
    item.show()
    language = vscode.languages.createLanguageStatusItem('tools', { language: 'plaintext' })
    Object.assign(language, { name: 'Tools', text: '1.2', detail: 'ready', busy: true, severity: vscode.LanguageStatusSeverity.Error, command: { command: 'shows.hide', title: 'Hide' } })
    window.setStatusBarMessage('$(check) saved')
  })
  // panels creates two panels of each of n kinds
  command('panels', n => {
    for (let i = 0; i < 2 * n; i++) window.createWebviewPanel(`kind${i % n}`, `Panel ${i}`, vscode.ViewColumn.One)
  })
  command('text', text => { item.text = text })
  command('hide', () => { item.dispose(); language.dispose() })
  // often sets the text n times, a thousand times a second
  command('often', async n => {
    for (let i = 0; i < n; i++) {
      item.text = 'step ' + i
      await new Promise(done => setTimeout(done, 1))
    }
  })

  // begin shows a progress until it is canceled or "end" is executed
  command('begin', (key, options) => {
    running[key] = {}
    const location = options.view ? { viewId: options.view } : vscode.ProgressLocation[options.location]
    running[key].done = window.withProgress({ ...options, location }, (progress, token) => new Promise(done => {
      running[key].progress = progress
      running[key].end = () => done('ended')
      token.onCancellationRequested(() => done('canceled'))
    }))
  })
  command('report', (key, step) => { running[key].progress.report(step) })
  command('end', async key => { running[key].end(); return running[key].done })
  command('outcome', key => running[key].done)
}
