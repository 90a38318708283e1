'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { workspace, commands, env, Range, Position, Selection, SnippetString } = vscode
const { file, editor, beside, exists, read, open, apply, start, fails, root } = require('./tools.js')

const replace = (e, range, text, undoStopBefore, undoStopAfter) => e.edit(b => b.replace(range, text), { undoStopBefore, undoStopAfter })

module.exports = () => ({
  'insertSnippet with a tab stop and a placeholder': async () => {
    const e = await editor('')
    assert.ok(await e.insertSnippet(new SnippetString().appendText('This is a ').appendTabstop().appendPlaceholder('placeholder').appendText(' snippet')))
    assert.deepStrictEqual([e.document.getText(), e.document.isDirty], ['This is a placeholder snippet', true])
  },
  'insertSnippet with the clipboard': async () => {
    await env.clipboard.writeText('from the clipboard')
    const e = await editor('')
    assert.ok(await e.insertSnippet(new SnippetString('running: $CLIPBOARD')))
    assert.strictEqual(e.document.getText(), 'running: from the clipboard')
  },
  'insertSnippet replaces the selection': async () => {
    const e = await editor('This will be replaced')
    e.selection = new Selection(new Position(0, 5), new Position(0, 12))
    assert.ok(await e.insertSnippet(new SnippetString().appendText('has been')))
    assert.strictEqual(e.document.getText(), 'This has been replaced')
  },
  'insertSnippet replaces a selection that is told': async () => {
    const e = await editor('This will be replaced')
    assert.ok(await e.insertSnippet(new SnippetString().appendText('has been'), new Selection(new Position(0, 5), new Position(0, 12))))
    assert.strictEqual(e.document.getText(), 'This has been replaced')
  },
  'TextEditor.edit inserts': async () => {
    const e = await editor('')
    assert.ok(await e.edit(b => b.insert(start, 'Hello World')))
    assert.deepStrictEqual([e.document.getText(), e.document.isDirty], ['Hello World', true])
  },
  'TextEditor.edit takes a range that is larger than the document': async () => {
    const e = await editor('Hello world!')
    assert.ok(await e.edit(b => b.replace(new Range(0, 0, Number.MAX_VALUE, Number.MAX_VALUE), 'new')))
    assert.strictEqual(e.document.getText(), 'new')
  },
  'edits without a stop between them are one step of undo': async () => {
    const e = await editor('Hello world!')
    assert.ok(await replace(e, new Range(0, 0, 0, 1), 'h', false, false))
    assert.ok(await replace(e, new Range(0, 1, 0, 5), 'ELLO', false, false))
    assert.strictEqual(e.document.getText(), 'hELLO world!')
    await commands.executeCommand('undo')
    assert.strictEqual(e.document.getText(), 'Hello world!')
  },
  'edits with a stop between them are two steps of undo': async () => {
    const e = await editor('Hello world!')
    assert.ok(await replace(e, new Range(0, 0, 0, 1), 'h', false, false))
    assert.ok(await replace(e, new Range(0, 1, 0, 5), 'ELLO', true, false))
    await commands.executeCommand('undo')
    assert.strictEqual(e.document.getText(), 'hello world!')
  },
  'options of an editor are those of its text and are changed': async () => {
    const e = await editor('Hello world!\n\tHello world!')
    const is = tabSize => assert.deepStrictEqual([e.options.tabSize, e.options.insertSpaces, e.options.cursorStyle, e.options.lineNumbers], [tabSize, false, vscode.TextEditorCursorStyle.Line, vscode.TextEditorLineNumbersStyle.On])
    is(4)
    e.options = { tabSize: 2 }
    is(2)
    e.options.tabSize = 'invalid'
    is(2)
  },
  'TextEditor.edit fails for ranges that overlap': async () => {
    const e = await editor('Hello world!\n\tHello world!')
    await fails(e.edit(b => { b.replace(new Range(0, 0, 0, 2), 'He'); b.replace(new Range(0, 1, 0, 3), 'el') }))
  },
  'an edit builder ends with its callback': async () => {
    const e = await editor('foo')
    let builder
    await e.edit(b => { builder = b; b.insert(start, 'bar') })
    assert.throws(() => builder.insert(start, 'bar'))
  },
  'applyEdit makes an untitled document large': async () => {
    const d = await workspace.openTextDocument()
    assert.ok(await apply(w => w.insert(d.uri, start, 'Hello World'.repeat(1000))))
    assert.strictEqual(d.getText().length, 11000)
  },
  'applyEdit refuses to edit what it deletes': async () => {
    const uri = await file()
    assert.strictEqual(await apply(w => { w.deleteFile(uri); w.insert(uri, start, '') }), false)
  },
  'applyEdit refuses to rename what it deletes': async () => {
    const uri = await file()
    assert.strictEqual(await apply(w => { w.deleteFile(uri); w.renameFile(uri, uri) }), false)
  },
  'applyEdit refuses to edit what it renames away': async () => {
    const uri = await file()
    assert.strictEqual(await apply(w => { w.renameFile(uri, beside(uri)); w.insert(uri, start, '') }), false)
  },
  'applyEdit edits before and after a rename': async () => {
    const uri = await file()
    assert.ok(await apply(w => { w.insert(uri, start, 'BEFORE'); w.renameFile(uri, beside(uri)); w.insert(beside(uri), start, 'AFTER') }))
    assert.strictEqual(await open(beside(uri)), 'AFTERBEFORE')
  },
  'applyEdit keeps the order of two inserts before a rename': async () => {
    const uri = await file()
    assert.ok(await apply(w => {
      w.insert(uri, start, 'Hello'); w.insert(uri, start, 'Foo'); w.renameFile(uri, beside(uri)); w.insert(beside(uri), start, 'Bar')
    }))
    assert.strictEqual(await open(beside(uri)), 'BarHelloFoo')
    assert.ok(!await exists(uri))
  },
  'applyEdit makes a file again that it renamed': async () => {
    const uri = await file()
    assert.ok(await apply(w => {
      w.insert(uri, start, 'Hello'); w.insert(uri, start, 'Foo'); w.renameFile(uri, beside(uri)); w.createFile(uri); w.insert(uri, start, 'Bar')
    }))
    assert.strictEqual(await open(beside(uri)), 'HelloFoo')
    assert.strictEqual(await open(uri), 'Bar')
  },
  'applyEdit edits a file and renames its folder': async () => {
    const uri = await file()
    const folder = vscode.Uri.joinPath(uri, '..')
    assert.ok(await apply(w => { w.insert(uri, start, 'Hello'); w.renameFile(folder, beside(folder)) }))
    await fails(workspace.openTextDocument(uri))
    assert.strictEqual(await open(vscode.Uri.joinPath(beside(folder), 'file.txt')), 'Hello')
  },
  'applyEdit edits after a rename': async () => {
    const uri = await file()
    assert.ok(await apply(w => { w.renameFile(uri, beside(uri)); w.insert(beside(uri), start, 'Hello') }))
    assert.strictEqual(await open(beside(uri)), 'Hello')
  },
  'applyEdit makes a file with a content': async () => {
    const uri = beside(await file())
    assert.ok(await apply(w => w.createFile(uri, { contents: Buffer.from('bytes') })))
    assert.strictEqual(await read(uri), 'bytes')
  },
  'applyEdit neither overwrites nor fails with ignoreIfExists': async () => {
    const uri = await file('old')
    assert.strictEqual(await apply(w => w.createFile(uri)), false)
    assert.ok(await apply(w => w.createFile(uri, { ignoreIfExists: true })))
    assert.strictEqual(await read(uri), 'old')
    assert.ok(await apply(w => w.createFile(uri, { overwrite: true })))
    assert.strictEqual(await read(uri), '')
  },
  'applyEdit deletes a folder only if it may be recursive': async () => {
    const folder = vscode.Uri.joinPath(await file(), '..')
    assert.strictEqual(await apply(w => w.deleteFile(folder)), false)
    assert.ok(await apply(w => w.deleteFile(folder, { recursive: true })))
    assert.ok(!await exists(folder) && await exists(root()))
  },
})
