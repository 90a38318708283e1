'use strict'

const assert = require('assert')
const vscode = require('vscode')
const path = require('path')

let last = 0
const root = () => vscode.workspace.workspaceFolders[0].uri
const at = name => vscode.Uri.joinPath(root(), name)
// file makes a new file in a folder of its own.
exports.file = async (text = '', name = 'file.txt') => {
  const uri = at(`${++last}/${name}`)
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text))
  return uri
}
exports.editor = async text => vscode.window.showTextDocument(await vscode.workspace.openTextDocument(await exports.file(text)))
exports.beside = (uri, suffix = '-new') => uri.with({ path: uri.path + suffix })
exports.exists = async uri => { try { await vscode.workspace.fs.stat(uri); return true } catch { return false } }
exports.read = async uri => Buffer.from(await vscode.workspace.fs.readFile(uri)).toString()
exports.open = async uri => (await vscode.workspace.openTextDocument(uri)).getText()
exports.apply = async build => {
  const edit = new vscode.WorkspaceEdit()
  build(edit)
  return vscode.workspace.applyEdit(edit)
}
exports.start = new vscode.Position(0, 0)
exports.at = at
exports.root = root
// during runs f while listeners listen, and returns its result.
exports.during = async (listeners, f) => {
  try { return await f() } finally { for (const l of listeners) l.dispose() }
}
// next returns a promise of the next event that fits.
exports.next = (event, fits = () => true) => new Promise(resolve => {
  const listener = event(e => { if (fits(e)) { listener.dispose(); resolve(e) } })
})
exports.fails = async (promise, pattern = /./) => {
  try { await promise } catch (e) { return assert.match(`${e?.name}: ${e?.message}`, pattern) }
  assert.fail('it should have failed')
}
exports.basename = uri => path.posix.basename(uri.path)
