'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { tasks, window, languages, workspace, commands, debug, Task, TaskScope, Range, Position } = vscode
const { file, next, during, fails } = require('./tools.js')

const task = (type, execution) => new Task({ type }, TaskScope.Workspace, 'a task', 'api', execution)
// pseudo is a terminal that ends with a code.
const pseudo = code => {
  const closed = new vscode.EventEmitter()
  return { onDidWrite: new vscode.EventEmitter().event, onDidClose: closed.event, open: () => closed.fire(code), close() {} }
}

module.exports = context => ({
  'a task tells the start and the end of its process': async () => {
    const started = next(tasks.onDidStartTaskProcess)
    const ended = next(tasks.onDidEndTaskProcess)
    const execution = await tasks.executeTask(task('api', new vscode.ShellExecution('exit 3')))
    const [start, end] = [await started, await ended]
    assert.ok(start.execution === execution && end.execution === execution)
    assert.ok(start.processId > 0)
    assert.strictEqual(end.exitCode, 3)
  },
  'a task of a provider is fetched and executed': async () => {
    let opened
    const done = new Promise(resolve => { opened = resolve })
    const pty = { ...pseudo(0), open() { opened() } }
    const provider = { provideTasks: () => [task('fetched', new vscode.CustomExecution(async () => pty))], resolveTask() {} }
    await during([tasks.registerTaskProvider('fetched', provider)], async () => {
      const [found] = await tasks.fetchTasks({ type: 'fetched' })
      assert.strictEqual(found.name, 'a task')
      const execution = await tasks.executeTask(found)
      await done
      execution.terminate()
    })
  },
  'tasks run at the same time': async () => {
    const run = async code => {
      const pty = pseudo(code)
      const closed = next(pty.onDidClose)
      await tasks.executeTask(new Task({ type: 'api', code }, TaskScope.Workspace, `task ${code}`, 'api', new vscode.CustomExecution(async () => pty)))
      return closed
    }
    assert.deepStrictEqual(await Promise.all([1, 2, 3, 4].map(run)), [1, 2, 3, 4])
  },
  'completions of a provider by its document filter': async () => {
    const uri = await file('{}', 'bower.json')
    const provider = { provideCompletionItems: () => [new vscode.CompletionItem('an item', vscode.CompletionItemKind.Property)] }
    const filter = ['package', 'bower'].map(name => ({ language: 'json', pattern: `**/${name}.json` }))
    await during([languages.registerCompletionItemProvider(filter, provider)], async () => {
      await workspace.openTextDocument(uri)
      const list = await commands.executeCommand('vscode.executeCompletionItemProvider', uri, new Position(0, 1))
      assert.ok(list.items.some(i => i.label === 'an item'))
      const other = await file('{}', 'other.json')
      await workspace.openTextDocument(other)
      const none = await commands.executeCommand('vscode.executeCompletionItemProvider', other, new Position(0, 1))
      assert.ok(!none.items.some(i => i.label === 'an item'))
    })
  },
  'code actions have the diagnostics of all collections': async () => {
    const uri = vscode.Uri.parse('actions:path.far')
    const diagnostics = ['monday', 'sunday'].map((text, i) => new vscode.Diagnostic(new Range(0, 2 * i, 0, 7), text))
    const collections = diagnostics.map(d => { const c = languages.createDiagnosticCollection(); c.set(uri, [d]); return c })
    let seen
    await during([
      ...collections, workspace.registerTextDocumentContentProvider('actions', { provideTextDocumentContent: () => 'this is some text' }),
      languages.registerCodeActionsProvider({ pattern: '*.far', scheme: 'actions' }, { provideCodeActions(_document, _range, context) { seen = context.diagnostics; return [] } }),
    ], async () => {
      await workspace.openTextDocument(uri)
      await commands.executeCommand('vscode.executeCodeActionProvider', uri, new Range(0, 0, 0, 10))
    })
    assert.ok(seen.length === 2 && diagnostics.every(d => seen.includes(d)), `${seen?.map(d => d.message)}`)
  },
  'a terminal that is disposed at once is opened and closed': async () => {
    const opened = next(window.onDidOpenTerminal)
    const t = window.createTerminal('at once')
    t.sendText('echo "foo"')
    assert.ok(await opened === t)
    const closed = next(window.onDidCloseTerminal, x => x === t)
    t.dispose()
    await closed
    assert.ok(!window.terminals.includes(t))
  },
  'a terminal that is hidden is in the list': async () => {
    const opened = next(window.onDidOpenTerminal)
    const t = window.createTerminal({ name: 'hidden', hideFromUser: true })
    assert.ok(await opened === t && window.terminals.includes(t))
    const closed = next(window.onDidCloseTerminal, x => x === t)
    t.dispose()
    await closed
  },
  'a collection sets variables of terminals': async () => {
    const { environmentVariableCollection: all } = context
    all.replace('OF_COLLECTION', '4')
    assert.strictEqual(all.get('OF_COLLECTION').value, '4')
    const t = window.createTerminal({ shellPath: '/bin/sh' })
    const closed = next(window.onDidCloseTerminal, x => x === t)
    t.sendText('exit $OF_COLLECTION')
    await closed
    all.clear()
    assert.strictEqual(t.exitStatus.code, 4)
  },
  'a document is opened with an encoding': async () => {
    const uri = await file('')
    await workspace.fs.writeFile(uri, Buffer.from('\ufeffhi', 'utf16le'))
    const d = await workspace.openTextDocument(uri, { encoding: 'utf16le' })
    assert.deepStrictEqual([d.encoding, d.getText()], ['utf16le', 'hi'])
  },
  'startDebugging fails': () => fails(debug.startDebugging(workspace.workspaceFolders[0], 'missing')),
})
