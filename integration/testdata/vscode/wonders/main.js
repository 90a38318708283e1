const vscode = require('vscode')
const { window } = vscode

// asked shows a picker or an input box and returns what was accepted, or "hidden".
const asked = (input, options, onAccept) => new Promise(done => {
  Object.assign(input, options)
  input.onDidHide(() => { input.dispose(); done('hidden') })
  input.onDidAccept(() => onAccept(input, done))
  input.show()
  options.later?.(input)
})

const questions = {
  message: async () => await window.showWarningMessage('delete it?', 'Yes', 'No') ?? null,
  detail: async () => (await window.showErrorMessage('really?', { modal: true, detail: 'all of it' }, { title: 'Yes' }, { title: 'Keep', isCloseAffordance: true }))?.title ?? null,
  list: async () => (await window.showQuickPick(Promise.resolve([{ label: 'letters', kind: vscode.QuickPickItemKind.Separator }, { label: 'a', n: 1 }, { label: 'b', n: 2 }]), { title: 'which letter' }))?.n ?? null,
  many: async () => (await window.showQuickPick(['a', 'b', 'c'], { title: 'which letters', canPickMany: true })) ?? null,
  several: async () => (await window.showQuickPick(['a', 'b'], { title: 'several letters', canPickMany: true })) ?? null,
  broken: async () => await window.showQuickPick(Promise.reject(new Error('no items')), { title: 'broken' }).then(v => v ?? null, e => e.message),
  input: async () => await window.showInputBox({ prompt: 'your name' }) ?? null,
  checked: async () => await window.showInputBox({ prompt: 'a port', validateInput: async v => /^\d+$/.test(v) ? (v === '80' ? { message: 'common', severity: vscode.InputBoxValidationSeverity.Info } : undefined) : 'digits expected, not ' + v }) ?? null,
  password: async () => await window.showInputBox({ prompt: 'the password', password: true, validateInput: v => v.length > 3 ? null : v + ' is too short' }) ?? null,
  open: async () => (await window.showOpenDialog({ openLabel: 'Take', canSelectMany: true }))?.map(u => u.fsPath) ?? null,
  save: async () => (await window.showSaveDialog({ title: 'where to' }))?.fsPath ?? null,
  picker: () => asked(window.createQuickPick(), {
    title: 'pick one', busy: true,
    later: input => setTimeout(() => { input.items = [{ label: 'x' }, { label: 'y' }]; input.busy = false }, 10),
  }, (input, done) => { done(input.selectedItems.map(i => i.label)); input.dispose() }),
  // late listens when its items are there, as git does with its branches.
  late: async () => {
    const input = window.createQuickPick()
    Object.assign(input, { title: 'which branch', busy: true })
    input.show()
    input.items = await new Promise(done => setTimeout(done, 50, [{ label: 'main' }]))
    input.busy = false
    const chosen = await new Promise(done => {
      input.onDidHide(() => done('hidden'))
      input.onDidAccept(() => done(input.activeItems[0].label))
    })
    input.dispose()
    return chosen
  },
  box: () => asked(window.createInputBox(), { title: 'a box' }, (input, done) => {
    if (input.value === 'bad') { input.validationMessage = 'not this one'; return }
    done(input.value)
    input.dispose()
  }),
  steps: () => {
    const given = []
    return asked(window.createInputBox(), { title: 'first', step: 1 }, (input, done) => {
      given.push(input.value)
      if (given.length === 2) { done(given); input.dispose(); return }
      input.title = 'second'
      input.step = 2
    })
  },
  canceled: async () => {
    const source = new vscode.CancellationTokenSource()
    setTimeout(() => source.cancel(), 50)
    return await window.showQuickPick(['a'], { title: 'canceled' }, source.token) ?? null
  },
}

exports.activate = context => {
  const answers = {}
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('wonders.' + name, run))
  command('ask', name => questions[name]())
  command('begin', (name, key = name) => { questions[name]().then(v => { answers[key] = v }, e => { answers[key] = 'error: ' + e.message }) })
  command('answers', () => answers)
}
