const vscode = require('vscode')
const { commands, window, workspace } = vscode

// uri is that of a file in the workspace, or the one of a text with a scheme.
const uri = name => /^[\w-]+:/.test(name) ? vscode.Uri.parse(name) : vscode.Uri.joinPath(workspace.workspaceFolders[0].uri, name)

// tried is the result of a function, or its error with the name.
const tried = async f => {
  try {
    return { result: await f() ?? null }
  } catch (e) {
    return { error: e instanceof Error ? `${e.name}: ${e.message}` : String(e) }
  }
}

// settled waits for the end of an event, such as the end of a task.
const settled = (event, is) => new Promise(done => { const d = event(e => { if (is(e)) { d.dispose(); done(e) } }) })

// edit executes a command where the text of a file is selected, and returns text and selection when the text
// has changed, or the command has ended if it only moves the selection.
const edit = async ({ file, select: [line, column, endLine = line, endColumn = column], command, args = [], moves = false }) => {
  const document = await workspace.openTextDocument(uri(file))
  const editor = await window.showTextDocument(document)
  const selected = editor.selection = new vscode.Selection(line, column, endLine, endColumn)
  const before = document.getText()
  const changed = moves
    ? settled(window.onDidChangeTextEditorSelection, e => e.textEditor === editor && !e.selections[0].isEqual(selected))
    : settled(workspace.onDidChangeTextDocument, e => e.document === document && document.getText() !== before)
  await commands.executeCommand(command, ...args)
  await changed
  const { start, end } = editor.selection
  const out = moves ? { selection: [start.line, start.character, end.line, end.character].join(' ') } : { text: document.getText() }
  if (!moves) {
    const whole = new vscode.Range(0, 0, document.lineCount, 0)
    await editor.edit(b => b.replace(whole, before))
    await document.save()
  }
  return out
}

// repository is the one of the workspace, when git has found it.
const repository = async () => {
  const api = (await vscode.extensions.getExtension('vscode.git').activate()).getAPI(1)
  if (api.repositories.length === 0) {
    await settled(api.onDidOpenRepository, () => true)
  }
  return { api, repo: api.repositories[0] }
}

const git = async ({ command, args = [], method, message, show }) => {
  const { api, repo } = await repository()
  await repo.status()
  if (message) {
    repo.inputBox.value = message
  }
  const out = {}
  if (show) {
    const document = await workspace.openTextDocument(api.toGitUri(uri(show), 'HEAD'))
    await window.showTextDocument(document)
    out.text = document.getText()
  }
  if (method) {
    Object.assign(out, await tried(() => repo[method](...args)))
  } else if (command) {
    Object.assign(out, await tried(() => commands.executeCommand(command, ...args)))
  }
  await repo.status()
  const names = list => list.map(c => `${c.uri.path.split('/').pop()} ${c.status}`).sort().join(', ')
  const { HEAD, indexChanges, workingTreeChanges, untrackedChanges = [] } = repo.state
  out.head = HEAD && HEAD.name
  out.index = names(indexChanges)
  out.changes = names([...workingTreeChanges, ...untrackedChanges])
  out.log = (await repo.log()).map(c => c.message).join(', ')
  return out
}

const fetched = async type => await vscode.tasks.fetchTasks(type ? { type } : undefined)

// at is the value at a path of names from the API or from the exports of an extension.
const at = async path => {
  const [first, ...rest] = path
  const from = first === 'vscode' ? vscode : await vscode.extensions.getExtension(first).activate()
  return rest.reduce(([, of], name) => [of, of[name]], [undefined, from])
}

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(commands.registerCommand('scenes.' + name, run))
  command('try', (name, ...args) => tried(() => commands.executeCommand(name, ...args)))
  command('edit', edit)
  command('git', git)
  command('tasks', async type => (await fetched(type)).map(t => {
    const e = t.execution
    return [t.definition.type, t.name, e && (e.commandLine || [e.command, ...e.args].map(a => a.value ?? a).join(' '))].join(' | ')
  }))
  command('task', async (type, name) => {
    const task = (await fetched(type)).find(t => t.name === name)
    const end = settled(vscode.tasks.onDidEndTaskProcess, e => e.execution.task.name === name)
    await vscode.tasks.executeTask(task)
    return (await end).exitCode
  })
  // Arguments {"uri": NAME} and {"range": [...]} are those of files and ranges.
  command('call', (path, ...args) => tried(async () => {
    const [of, f] = await at(path)
    const given = args.map(a => a?.uri ? uri(a.uri) : a?.position ? new vscode.Position(...a.position) : a)
    return typeof f === 'function' ? await f.apply(of, given) : typeof f
  }))
}
