'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { workspace, languages, Uri, Range } = vscode
const { file, beside, apply, during, exists } = require('./tools.js')

// seen returns the files of the events of a workspace edit, by will and did.
const seen = async (did, act) => {
  const events = []
  await during([workspace[did](e => events.push(...e.files))], async () => assert.ok(await act()))
  return events
}

module.exports = () => ({
  'onDidCreateFiles of a workspace edit': async () => {
    const uri = beside(await file())
    const files = await seen('onDidCreateFiles', () => apply(w => w.createFile(uri)))
    assert.deepStrictEqual(files.map(String), [uri.toString()])
    assert.ok(await exists(uri))
  },
  'onDidDeleteFiles of a workspace edit': async () => {
    const uri = await file()
    const files = await seen('onDidDeleteFiles', () => apply(w => w.deleteFile(uri)))
    assert.deepStrictEqual(files.map(String), [uri.toString()])
    assert.ok(!await exists(uri))
  },
  'onDidRenameFiles of a workspace edit': async () => {
    const uri = await file()
    const files = await seen('onDidRenameFiles', () => apply(w => w.renameFile(uri, beside(uri))))
    assert.deepStrictEqual(files.map(f => [`${f.oldUri}`, `${f.newUri}`]), [[`${uri}`, `${beside(uri)}`]])
  },
  'diagnostics of two collections are read together': () => {
    const uri = Uri.file('/foo/bar.txt')
    const diagnostic = new vscode.Diagnostic(new Range(0, 0, 0, 12), 'wrong')
    const collections = ['a', 'b'].map(name => languages.createDiagnosticCollection(name))
    return during(collections, () => {
      for (const c of collections) c.set(uri, [diagnostic])
      assert.strictEqual(languages.getDiagnostics(uri).length, 2)
      assert.ok(languages.getDiagnostics().some(([u]) => `${u}` === `${uri}`))
    })
  },
  'onDidChangeDiagnostics tells the files': async () => {
    const uri = Uri.file('/foo/changed.txt')
    const c = languages.createDiagnosticCollection('c')
    const told = new Promise(resolve => { c.listener = languages.onDidChangeDiagnostics(e => resolve(e.uris)) })
    await during([c, c.listener], async () => {
      c.set(uri, [new vscode.Diagnostic(new Range(0, 0, 0, 1), 'wrong')])
      assert.ok((await told).some(u => `${u}` === `${uri}`))
    })
  },
  'languages of manifests are known': async () => {
    const all = await languages.getLanguages()
    for (const id of ['abc', 'json', 'html']) assert.ok(all.includes(id), id)
    assert.strictEqual((await workspace.openTextDocument(await file('', 'file.abc'))).languageId, 'abc')
  },
  'settings of a language have defaults': () => {
    assert.deepEqual(workspace.getConfiguration().get('[abc]'), { 'editor.lineNumbers': 'off', 'editor.tabSize': 2 })
    assert.strictEqual(workspace.getConfiguration('editor', { languageId: 'abc' }).get('tabSize'), 2)
  },
  'settings have defaults, also nested ones, and are read-only': () => {
    const c = workspace.getConfiguration('fields')
    assert.ok(c.has('on') && c.has('nested.number'))
    assert.deepStrictEqual([c.get('on'), c.get('empty'), c.on, c.empty, c.get('nested.number'), c.get('nested.text')], [true, '', true, '', 42, 'a text'])
    assert.throws(() => { c.empty = 'other' })
  },
  'a setting may be named as a method': () => {
    const c = workspace.getConfiguration('fields')
    assert.ok(c.has('get'))
    assert.strictEqual(c.get('get'), 'a value')
    assert.strictEqual(typeof c.get, 'function')
    assert.throws(() => { c.get = 'other' })
  },
})
