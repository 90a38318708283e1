'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { chat, commands, comments, debug, env, languages, lm, notebooks, scm, tests, window, workspace, Uri, Range } = vscode
const { file, during, fails, next, at } = require('./tools.js')

// What an editor without a window does not have: it says so, or what it says of itself is true.
module.exports = () => ({
  'a webview panel is there and not visible': async () => {
    const panel = window.createWebviewPanel('api', 'Title', vscode.ViewColumn.One, {})
    await during([panel], async () => {
      const hidden = next(panel.onDidChangeViewState, e => !e.webviewPanel.visible)
      panel.webview.html = '<p>text</p>'
      await hidden
      panel.reveal()
      assert.deepStrictEqual([panel.visible, panel.active], [false, false])
      assert.strictEqual(await panel.webview.postMessage('text'), false)
    })
  },
  'the webview of a view is not asked for': () => during([window.registerWebviewViewProvider('api.view', { resolveWebviewView: () => assert.fail('asked') })], () => {}),
  'a tree is not visible until it is revealed': async () => {
    const provider = { getTreeItem: x => new vscode.TreeItem(x), getChildren: x => x ? [] : ['a'], getParent: () => undefined }
    const tree = window.createTreeView('api.tree', { treeDataProvider: provider })
    await during([tree], async () => {
      assert.strictEqual(tree.visible, false)
      await tree.reveal('a')
      assert.deepStrictEqual([tree.visible, tree.selection], [true, ['a']])
    })
  },
  'nothing is opened outside': async () => {
    assert.strictEqual(await env.openExternal(Uri.parse('https://example.com')), false)
    await fails(commands.executeCommand('vscode.open', Uri.parse('https://example.com')), /NotSupported.*browser/)
  },
  'a URI handler is not called': () => during([window.registerUriHandler({ handleUri: () => assert.fail('called') })], () => {}),
  'the clipboard keeps a text': async () => {
    await env.clipboard.writeText('a text')
    assert.strictEqual(await env.clipboard.readText(), 'a text')
  },
  'nothing is debugged': async () => {
    await fails(debug.startDebugging(undefined, { type: 'node', request: 'launch', name: 'a' }), /NotSupported.*debug.startDebugging/)
    assert.deepStrictEqual([debug.activeDebugSession, debug.breakpoints], [undefined, []])
  },
  'notebooks are not opened': async () => {
    const controller = notebooks.createNotebookController('api.kernel', 'api-notebook', 'a kernel')
    await during([controller], async () => {
      await fails(workspace.openNotebookDocument('api-notebook'), /NotSupported.*openNotebookDocument/)
      await fails(workspace.openNotebookDocument(await file('{}', 'a.ipynb')), /NotSupported.*openNotebookDocument/)
      assert.strictEqual(workspace.notebookDocuments.length, 0)
    })
  },
  'there are no models of language models': async () => assert.deepStrictEqual(await lm.selectChatModels(), []),
  'a participant of a chat is not asked': () => during([chat.createChatParticipant('api.participant', () => assert.fail('asked'))], () => {}),
  'comments, source control and tests have their fields': async () => {
    const [controller, control, runner] = [comments.createCommentController('api.comments', 'Comments'), scm.createSourceControl('api', 'Api'), tests.createTestController('api.tests', 'Tests')]
    await during([controller, control, runner], async () => {
      const thread = controller.createCommentThread(await file('text'), new Range(0, 0, 0, 1), [])
      assert.strictEqual(thread.comments.length, 0)
      thread.dispose()
      const group = control.createResourceGroup('group', 'Group')
      group.resourceStates = [{ resourceUri: at('a') }]
      control.inputBox.value = 'message'
      assert.deepStrictEqual([group.resourceStates.length, control.inputBox.value], [1, 'message'])
      const test = runner.createTestItem('one', 'One')
      runner.items.add(test)
      const run = runner.createTestRun(new vscode.TestRunRequest([test]))
      run.started(test); run.passed(test); run.end()
      assert.strictEqual(run.token.isCancellationRequested, false)
    })
  },
  'providers of a window are registered and not asked': () => during([
    window.registerTerminalLinkProvider({ provideTerminalLinks: () => assert.fail('asked'), handleTerminalLink: () => {} }),
    window.registerTerminalProfileProvider('api.profile', { provideTerminalProfile: () => assert.fail('asked') }),
    window.registerFileDecorationProvider({ provideFileDecoration: () => assert.fail('asked') }),
    languages.registerInlineCompletionItemProvider('*', { provideInlineCompletionItems: () => assert.fail('asked') }),
    languages.registerLinkedEditingRangeProvider('*', { provideLinkedEditingRanges: () => assert.fail('asked') }),
  ], async () => { await window.showTextDocument(await workspace.openTextDocument(await file('text'))) }),
  'an editor shows nothing and says so': async () => {
    const e = await window.showTextDocument(await workspace.openTextDocument(await file('a\n'.repeat(100))))
    const type = window.createTextEditorDecorationType({ color: 'red' })
    await during([type], () => {
      e.setDecorations(type, [new Range(0, 0, 0, 1)])
      e.revealRange(new Range(90, 0, 90, 1))
      assert.deepStrictEqual([...e.visibleRanges], [])
    })
  },
  'workspace.save saves, and saveAs fails by its name': async () => {
    const e = await window.showTextDocument(await workspace.openTextDocument(await file('text')))
    await e.edit(b => b.insert(new vscode.Position(0, 0), 'a '))
    assert.strictEqual(`${await workspace.save(e.document.uri)}`, `${e.document.uri}`)
    assert.strictEqual(e.document.isDirty, false)
    await fails(workspace.saveAs(e.document.uri), /NotSupported.*workspace.saveAs/)
    assert.strictEqual(await workspace.save(at('none')), undefined)
  },
  'commands of the editor that are executed are listed': async () => {
    const all = await commands.getCommands()
    for (const name of ['undo', 'redo', 'vscode.open', 'workbench.action.files.save', '_executeHoverProvider', 'setContext']) assert.ok(all.includes(name), name)
    for (const name of ['vscode.diff', 'workbench.action.splitEditor']) assert.ok(!all.includes(name), name)
  },
  'a terminal of an extension changes its name': async () => {
    const renamed = new vscode.EventEmitter()
    let open
    const opened = new Promise(resolve => { open = resolve })
    const t = window.createTerminal({ name: 'before', pty: { onDidWrite: new vscode.EventEmitter().event, onDidChangeName: renamed.event, open, close: () => {} } })
    await during([t], async () => {
      await opened
      renamed.fire('after')
      // There is no event for it, and calls are answered in order.
      while (t.name !== 'after') await workspace.fs.stat(at('.'))
    })
  },
  'telemetry is off': () => {
    const seen = []
    const logger = env.createTelemetryLogger({ sendEventData: name => seen.push(name), sendErrorData: () => {} })
    return during([logger], () => {
      logger.logUsage('event')
      assert.deepStrictEqual([seen, env.isTelemetryEnabled, logger.isUsageEnabled], [[], false, false])
    })
  },
  'documents of a file system are opened, changed and saved': async () => {
    const files = new Map([['/a.txt', Buffer.from('one')]])
    const changed = new vscode.EventEmitter()
    const get = uri => { if (!files.has(uri.path)) throw vscode.FileSystemError.FileNotFound(uri); return files.get(uri.path) }
    let time = 1
    const provider = {
      onDidChangeFile: changed.event,
      watch: () => new vscode.Disposable(() => {}),
      stat: uri => uri.path === '/' ? { type: vscode.FileType.Directory, ctime: 1, mtime: 1, size: 0 } : { type: vscode.FileType.File, ctime: 1, mtime: time, size: get(uri).length },
      readDirectory: () => [...files.keys()].map(name => [name.slice(1), vscode.FileType.File]),
      readFile: get,
      writeFile: (uri, content) => { time++; files.set(uri.path, Buffer.from(content)) },
      createDirectory: () => {}, delete: () => {}, rename: () => {},
    }
    const uri = Uri.parse('apidocs:/a.txt')
    await during([workspace.registerFileSystemProvider('apidocs', provider)], async () => {
      const d = await workspace.openTextDocument(uri)
      assert.deepStrictEqual([d.getText(), d.isDirty, d.isUntitled], ['one', false, false])
      const e = await window.showTextDocument(d)
      assert.ok(await e.edit(b => b.insert(new vscode.Position(0, 0), 'x')))
      assert.ok(d.isDirty)
      assert.ok(await d.save())
      assert.deepStrictEqual([`${files.get('/a.txt')}`, d.isDirty], ['xone', false])
      const told = next(workspace.onDidChangeTextDocument, x => x.document === d && d.getText() === 'other')
      files.set('/a.txt', Buffer.from('other')); time++
      changed.fire([{ type: vscode.FileChangeType.Changed, uri }])
      await told
      await fails(workspace.openTextDocument(Uri.parse('apidocs:/none.txt')), /none/)
    })
  },
})
