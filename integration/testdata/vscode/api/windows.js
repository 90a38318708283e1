'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { window, workspace, ViewColumn, Range, Selection } = vscode
const { file, next, during } = require('./tools.js')

const show = async (options, text = 'foo\nbar\nbar') => window.showTextDocument(await workspace.openTextDocument(await file(text)), options)

module.exports = () => ({
  'showTextDocument makes an editor active': async () => {
    const d = await workspace.openTextDocument(await file('text'))
    const e = await window.showTextDocument(d)
    assert.ok(e.document === d && window.activeTextEditor === e && window.visibleTextEditors.includes(e))
  },
  'showTextDocument selects a range': async () => {
    const { selection } = await show({ selection: new Range(1, 1, 1, 2) })
    assert.ok(selection.isEqual(new Selection(1, 1, 1, 2)))
  },
  'showTextDocument uses columns': async () => {
    const one = await show(ViewColumn.One)
    const two = await show(ViewColumn.Two)
    assert.deepStrictEqual([one.viewColumn, two.viewColumn], [ViewColumn.One, ViewColumn.Two])
    assert.ok(window.activeTextEditor === two && window.visibleTextEditors.length >= 2)
    const active = await show(ViewColumn.Active)
    assert.strictEqual(active.viewColumn, ViewColumn.Two)
    const first = await show(ViewColumn.One)
    assert.ok(window.activeTextEditor === first)
  },
  'showTextDocument of a URI': async () => {
    const uri = await file('text')
    await window.showTextDocument(uri)
    assert.strictEqual(`${window.activeTextEditor.document.uri}`, `${uri}`)
  },
  'showTextDocument without a column uses the active one': async () => {
    await show(ViewColumn.One)
    await show(ViewColumn.Two)
    const e = await show()
    assert.ok(window.activeTextEditor === e && e.viewColumn === ViewColumn.Two)
  },
  'showTextDocument beside makes a column': async () => {
    await show(ViewColumn.One)
    const e = await show(ViewColumn.Beside)
    assert.ok(window.activeTextEditor === e && e.viewColumn === ViewColumn.Two)
    const next = await show(ViewColumn.Beside)
    assert.strictEqual(next.viewColumn, ViewColumn.Three)
  },
  'showTextDocument uses more than nine columns': async () => {
    for (let column = 1; column <= 9; column++) assert.strictEqual((await show(column)).viewColumn, column)
    assert.strictEqual((await show(ViewColumn.Beside)).viewColumn, 10)
  },
  'the active editor is the one that was shown last': async () => {
    const [a, b] = [await workspace.openTextDocument(await file('a')), await workspace.openTextDocument(await file('b'))]
    for (let i = 0; i < 4; i++) {
      assert.ok(await window.showTextDocument(a, ViewColumn.One) === window.activeTextEditor)
      assert.ok(await window.showTextDocument(b, ViewColumn.Two) === window.activeTextEditor)
    }
  },
  'onDidChangeVisibleTextEditors tells the editors': async () => {
    const d = await workspace.openTextDocument(await file('text'))
    const told = next(window.onDidChangeVisibleTextEditors, list => list.some(e => e.document === d))
    await window.showTextDocument(d, ViewColumn.One)
    await told
  },
  'selections fit the text of their editor': async () => {
    const wrong = []
    const lines = n => 'line\n'.repeat(n - 1) + 'line'
    const [ten, thirty] = [await workspace.openTextDocument(await file(lines(10))), await workspace.openTextDocument(await file(lines(30)))]
    await during([window.onDidChangeTextEditorSelection(e => {
      if (e.textEditor.selections[0].active.line !== e.selections[0].active.line || e.selections[0].active.line >= e.textEditor.document.lineCount) wrong.push(e)
    })], async () => {
      for (const [d, line] of [[ten, 9], [thirty, 29], [ten], [thirty]]) {
        const e = await window.showTextDocument(d, ViewColumn.One)
        if (line) e.selection = new Selection(line, 0, line, 0)
      }
    })
    assert.strictEqual(wrong.length, 0)
  },
  'showInputBox that was cancelled is undefined': async () => {
    const source = new vscode.CancellationTokenSource()
    const later = window.showInputBox(undefined, source.token)
    source.cancel()
    assert.deepStrictEqual([await later, await window.showInputBox(undefined, source.token)], [undefined, undefined])
  },
  'showTextDocument can keep the focus': async () => {
    const one = await show(ViewColumn.One)
    await show({ viewColumn: ViewColumn.Two, preserveFocus: true })
    assert.ok(window.activeTextEditor === one)
  },
  'onDidChangeActiveTextEditor tells the editor': async () => {
    const d = await workspace.openTextDocument(await file('text'))
    const told = next(window.onDidChangeActiveTextEditor, e => e?.document === d)
    await window.showTextDocument(d)
    assert.ok(await told)
  },
  'onDidChangeTextEditorSelection tells the selection': async () => {
    const e = await show()
    const told = next(window.onDidChangeTextEditorSelection, x => x.textEditor === e)
    e.selection = new Selection(1, 0, 1, 2)
    assert.ok((await told).selections[0].isEqual(new Selection(1, 0, 1, 2)))
  },
  'tabs are listed, told and closed': async () => {
    const e = await show(ViewColumn.One)
    const of = () => window.tabGroups.all.flatMap(g => g.tabs).find(t => t.input instanceof vscode.TabInputText && `${t.input.uri}` === `${e.document.uri}`)
    const tab = of()
    assert.ok(tab && tab.isActive && tab.group.viewColumn === ViewColumn.One)
    const told = next(window.tabGroups.onDidChangeTabs, x => x.closed.length > 0)
    assert.ok(await window.tabGroups.close(tab))
    await told
    assert.strictEqual(of(), undefined)
  },
  'an editor has another column when one before it is hidden': async () => {
    await workspace.saveAll()
    await window.tabGroups.close(window.tabGroups.all)
    const [one, two] = [await show(ViewColumn.One), await show(ViewColumn.Two)]
    const told = next(window.onDidChangeTextEditorViewColumn, e => e.textEditor === two)
    one.hide()
    assert.strictEqual((await told).viewColumn, two.viewColumn)
    assert.strictEqual(two.viewColumn, ViewColumn.One)
  },
  'questions of the window are dismissed': async () => {
    assert.strictEqual(await window.showQuickPick(['one', 'two']), undefined)
    assert.strictEqual(await window.showInputBox(), undefined)
    assert.strictEqual(await window.showInformationMessage('really?', 'yes'), undefined)
    assert.strictEqual(await window.showWorkspaceFolderPick(), undefined)
  },
  'items of the status bar and output channels have their fields': () => {
    const item = window.createStatusBarItem('id', vscode.StatusBarAlignment.Left, 7)
    const channel = window.createOutputChannel('a channel')
    return during([item, channel], () => {
      assert.deepStrictEqual([item.id.endsWith('id'), item.alignment, item.priority, item.text], [true, vscode.StatusBarAlignment.Left, 7, ''])
      item.text = 'text'; item.show(); item.hide()
      channel.append('a'); channel.appendLine('b'); channel.replace('c'); channel.clear()
      assert.strictEqual(channel.name, 'a channel')
    })
  },
  'withProgress runs its task': async () => {
    const result = await window.withProgress({ location: vscode.ProgressLocation.Window }, async (progress, token) => {
      progress.report({ message: 'half', increment: 50 })
      return token.isCancellationRequested ? 'cancelled' : 'done'
    })
    assert.strictEqual(result, 'done')
  },
  'the theme and the state of the window are there': () => {
    assert.ok(Object.values(vscode.ColorThemeKind).includes(window.activeColorTheme.kind))
    assert.strictEqual(typeof window.state.focused, 'boolean')
  },
  'a terminal runs a program and tells its end': async () => {
    const opened = next(window.onDidOpenTerminal)
    const t = window.createTerminal({ name: 'a shell', shellPath: '/bin/sh', env: { CODE: '3' } })
    assert.ok(await opened === t && window.terminals.includes(t))
    assert.strictEqual(t.name, 'a shell')
    assert.strictEqual(typeof await t.processId, 'number')
    assert.strictEqual(t.exitStatus, undefined)
    assert.strictEqual(t.creationOptions.shellPath, '/bin/sh')
    const closed = next(window.onDidCloseTerminal, x => x === t)
    t.sendText('exit $CODE')
    await closed
    assert.strictEqual(t.exitStatus.code, 3)
    assert.strictEqual(t.exitStatus.reason, vscode.TerminalExitReason.Process)
  },
  'onDidWriteTerminalData tells what a terminal writes': async () => {
    const opened = next(window.onDidOpenTerminal)
    let all = ''
    const told = next(window.onDidWriteTerminalData, e => (all += e.data).includes('written'))
    const t = window.createTerminal({ name: 'writes', shellPath: '/bin/sh', shellArgs: ['-c', 'printf wri; printf "tten\\n"; read line'] })
    await during([t], async () => {
      assert.ok(await opened === t)
      assert.ok((await told).terminal === t)
    })
  },
  'a terminal of an extension is opened, written to and closed': async () => {
    const write = new vscode.EventEmitter()
    const close = new vscode.EventEmitter()
    const seen = []
    let input
    const got = new Promise(resolve => { input = resolve })
    const opened = new Promise(resolve => {
      const t = window.createTerminal({ name: 'own', pty: { onDidWrite: write.event, onDidClose: close.event, open: () => resolve(t), close: () => seen.push('close'), handleInput: input } })
    })
    const t = await opened
    assert.strictEqual(t.name, 'own')
    t.sendText('hi', false)
    assert.strictEqual(await got, 'hi')
    write.fire('some output')
    const closed = next(window.onDidCloseTerminal, x => x === t)
    close.fire(7)
    await closed
    assert.strictEqual(t.exitStatus.code, 7)
  },
})
