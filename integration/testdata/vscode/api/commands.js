'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { commands, env, window, workspace, extensions, Uri, Range } = vscode
const { file, during, fails, next } = require('./tools.js')

module.exports = context => ({
  'getCommands can leave out internal ones': async () => {
    await during([commands.registerCommand('_api.internal', () => {}), commands.registerCommand('api.shown', () => {})], async () => {
      const [all, shown] = [await commands.getCommands(), await commands.getCommands(true)]
      assert.ok(all.includes('_api.internal') && all.includes('api.shown') && shown.includes('api.shown'))
      assert.ok(!shown.some(name => name.startsWith('_')))
    })
  },
  'a command has its arguments': async () => {
    let got
    await during([commands.registerCommand('api.t1', (...args) => { got = args; return 'result' })], async () => {
      assert.strictEqual(await commands.executeCommand('api.t1', 'start'), 'result')
    })
    assert.deepStrictEqual(got, ['start'])
  },
  'a command of an editor has the editor, an edit and its arguments': async () => {
    const e = await window.showTextDocument(await workspace.openTextDocument(await file('text')))
    let got
    await during([commands.registerTextEditorCommand('api.t2', (...args) => { got = args })], () => commands.executeCommand('api.t2', 12345, commands))
    assert.strictEqual(got.length, 4)
    assert.ok(got[0] === e && got[2] === 12345 && got[3] === commands)
  },
  'a command that is unknown fails': () => fails(commands.executeCommand('api.unknown')),
  'vscode.open opens a file and checks its arguments': async () => {
    const uri = await file('text')
    await commands.executeCommand('vscode.open', uri)
    assert.strictEqual(`${window.activeTextEditor.document.uri}`, `${uri}`)
    await fails(commands.executeCommand('vscode.open'))
    await fails(commands.executeCommand('vscode.open', uri, true))
  },
  'vscode.diff without a window is refused by its name': async () => {
    const uri = await file('text')
    await fails(commands.executeCommand('vscode.diff', uri, uri, 'title'), /NotSupported.*diff/)
    await fails(commands.executeCommand('vscode.diff', 1, 2, 3))
  },
  'env is there and read-only': () => {
    for (const name of ['language', 'appRoot', 'appName', 'machineId', 'sessionId', 'shell']) {
      assert.strictEqual(typeof env[name], 'string', name)
      assert.throws(() => { env[name] = '234' }, name)
    }
    assert.strictEqual(env.remoteName, undefined)
  },
  'env.asExternalUri and uiKind fit': async () => {
    const uri = Uri.parse('http://127.0.0.1:8080/path?key=value')
    assert.strictEqual(`${await env.asExternalUri(uri)}`, `${uri}`)
    assert.strictEqual(env.uiKind, vscode.UIKind.Desktop)
    // Nothing would bring such a URI back to its extension.
    await fails(env.asExternalUri(Uri.parse(`${env.uriScheme}://acme.api/path?key=value`)), /NotSupported.*asExternalUri/)
  },
  'states are kept, listed and removed': async () => {
    for (const state of [context.globalState, context.workspaceState]) {
      assert.deepStrictEqual([...state.keys()], [])
      assert.strictEqual(state.get('key', 'default'), 'default')
      await state.update('key', 'value')
      assert.deepStrictEqual([...state.keys()], ['key'])
      assert.strictEqual(state.get('key', 'default'), 'value')
      await state.update('key', undefined)
      assert.deepStrictEqual([...state.keys()], [])
      assert.strictEqual(state.get('key', 'default'), 'default')
    }
  },
  'secrets are kept and told': async () => {
    const told = next(context.secrets.onDidChange)
    await context.secrets.store('key', 'sesame')
    assert.strictEqual((await told).key, 'key')
    assert.strictEqual(await context.secrets.get('key'), 'sesame')
    await context.secrets.delete('key')
    assert.strictEqual(await context.secrets.get('key'), undefined)
  },
  'an extension finds itself': () => {
    const own = extensions.getExtension('acme.api')
    assert.deepStrictEqual([own.isActive, own.packageJSON.name, own.extensionPath], [true, 'api', context.extensionPath])
  },
  'types have their static members': () => {
    for (const icon of ['File', 'Folder']) assert.ok(vscode.ThemeIcon[icon] instanceof vscode.ThemeIcon)
    for (const kind of ['Empty', 'QuickFix', 'Refactor', 'RefactorExtract', 'RefactorInline', 'RefactorMove', 'RefactorRewrite', 'Source', 'SourceOrganizeImports', 'SourceFixAll']) {
      assert.ok(vscode.CodeActionKind[kind] instanceof vscode.CodeActionKind, kind)
    }
  },
  'MarkdownString escapes text': () => {
    const md = new vscode.MarkdownString('**bold**')
    assert.strictEqual(md.isTrusted, undefined)
    md.appendText('**bold?**')
    md.appendMarkdown('**bold**')
    assert.strictEqual(md.value, '**bold**\\*\\*bold?\\*\\***bold**')
  },
  'objects of the API do not show the connection': async () => {
    const e = await window.showTextDocument(await workspace.openTextDocument(await file('text')))
    const [terminal, item, watcher] = [window.createTerminal({ name: 'looked at' }), window.createStatusBarItem(), workspace.createFileSystemWatcher('**/*.none')]
    const seen = new Set()
    const found = []
    const look = (value, path) => {
      if (value === null || typeof value !== 'object' && typeof value !== 'function' || seen.has(value) || path.split('.').length > 6) return
      seen.add(value)
      if (value[Symbol.for('rpcProxy')] || value[Symbol.for('rpcProtocol')]) { found.push(path); return }
      for (const name of Object.getOwnPropertyNames(value)) {
        let next
        try { next = value[name] } catch { continue } // one that throws shows nothing
        look(next, `${path}.${name}`)
      }
    }
    await during([terminal, item, watcher], () => {
      for (const [name, value] of Object.entries({ e, terminal, item, watcher })) look(value, name)
    })
    assert.ok(seen.size > 20)
    assert.deepStrictEqual(found, [])
  },
  'a module of the host is the API of its extension': () => assert.ok(require('vscode') === vscode && Range === vscode.Range),
})
