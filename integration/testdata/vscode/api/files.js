'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { workspace, Uri, FileType, FileSystemError } = vscode
const { file, beside, exists, read, root, at, fails, during, next } = require('./tools.js')

// memory is a file system with flat names.
const memory = () => {
  const files = new Map()
  const changed = new vscode.EventEmitter()
  const missing = uri => { if (!files.has(uri.path)) throw FileSystemError.FileNotFound(uri) }
  return {
    watches: [], onDidChangeFile: changed.event,
    watch(uri, options) { this.watches.push({ uri: uri.toString(), ...options }); this.watched?.(); return new vscode.Disposable(() => {}) },
    stat: uri => { if (uri.path === '/') return { type: FileType.Directory, ctime: 0, mtime: 0, size: 0 }; missing(uri); return { type: FileType.File, ctime: 0, mtime: 1, size: files.get(uri.path).length } },
    readDirectory: () => [...files.keys()].map(name => [name.slice(1), FileType.File]),
    createDirectory() {},
    readFile: uri => { missing(uri); return files.get(uri.path) },
    writeFile: (uri, content) => { files.set(uri.path, content) },
    delete: uri => { missing(uri); files.delete(uri.path) },
    rename: (from, to) => { missing(from); files.set(to.path, files.get(from.path)); files.delete(from.path) },
  }
}

// watching returns what a file system is asked to watch for a watcher.
const watching = async (scheme, pattern, options) => {
  const fs = memory()
  const registered = workspace.registerFileSystemProvider(scheme, fs)
  const base = Uri.from({ scheme, path: '/some/folder' })
  const asked = new Promise(resolve => { fs.watched = resolve })
  const watcher = workspace.createFileSystemWatcher(new vscode.RelativePattern(base, pattern), ...options)
  await asked
  watcher.dispose()
  registered.dispose()
  const { uri, recursive, excludes } = fs.watches[0]
  assert.strictEqual(uri, base.toString())
  return { recursive, excludes: [...excludes] }
}

module.exports = () => ({
  'fs.stat and readDirectory of a folder': async () => {
    await vscode.workspace.fs.writeFile(at('far.js'), Buffer.from('far'))
    const s = await workspace.fs.stat(root())
    assert.strictEqual(s.type, FileType.Directory)
    assert.ok(typeof s.size === 'number' && s.mtime > 0 && s.ctime > 0)
    assert.deepStrictEqual((await workspace.fs.readDirectory(root())).find(([name]) => name === 'far.js'), ['far.js', FileType.File])
  },
  'fs.stat fails for a scheme without file system': async () => {
    await fails(workspace.fs.stat(Uri.parse('foo:/bar/baz/test.txt')))
    try { await workspace.fs.stat(Uri.parse('foo:/bar')) } catch (e) {
      assert.ok(e instanceof FileSystemError)
      assert.strictEqual(e.name, FileSystemError.Unavailable().name)
    }
  },
  'fs.stat fails for a file that is missing': async () => {
    let seen
    try { await workspace.fs.stat(at('missing')) } catch (e) { seen = e }
    assert.ok(seen instanceof FileSystemError)
    assert.deepStrictEqual([seen.name, seen.code], [FileSystemError.FileNotFound().name, 'FileNotFound'])
  },
  'a file is written, found and deleted': async () => {
    const uri = await file('HELLO')
    const s = await workspace.fs.stat(uri)
    assert.deepStrictEqual([s.type, s.size, await read(uri)], [FileType.File, 5, 'HELLO'])
    await workspace.fs.delete(uri)
    assert.ok(!await exists(uri))
  },
  'fs.delete of a folder needs recursive': async () => {
    const uri = await file('FOO')
    const folder = Uri.joinPath(uri, '..')
    for (const options of [{ recursive: false, useTrash: false }, undefined]) {
      await fails(workspace.fs.delete(folder, options))
      assert.ok(await exists(uri))
    }
    await workspace.fs.delete(folder, { recursive: true, useTrash: false })
    assert.ok(!await exists(folder))
  },
  'fs.delete fails for what is missing': () => fails(workspace.fs.delete(at('missing')), /FileNotFound|EntryNotFound/),
  'fs.copy and fs.rename overwrite only if told': async () => {
    const [a, b] = [await file('a'), await file('b')]
    await fails(workspace.fs.copy(a, b))
    await fails(workspace.fs.rename(a, b), /FileExists|EntryExists/)
    await workspace.fs.copy(a, b, { overwrite: true })
    assert.strictEqual(await read(b), 'a')
    await workspace.fs.rename(a, beside(b))
    assert.ok(!await exists(a) && await exists(beside(b)))
  },
  'a read-only file system is not written': async () => {
    for (const [scheme, isReadonly] of [['ro-a', true], ['ro-b', new vscode.MarkdownString('This is read-only.')]]) {
      await during([workspace.registerFileSystemProvider(scheme, memory(), { isReadonly })], async () => {
        let seen
        try { await workspace.fs.writeFile(Uri.parse(`${scheme}:/foo.txt`), Buffer.from('x')) } catch (e) { seen = e }
        assert.strictEqual(workspace.fs.isWritableFileSystem(scheme), false)
        assert.ok(seen instanceof FileSystemError)
        assert.strictEqual(seen.code, 'NoPermissions')
      })
    }
  },
  'a file system of an extension is written and read': () => during([workspace.registerFileSystemProvider('rw', memory())], async () => {
    const uri = Uri.parse('rw:/foo.txt')
    await workspace.fs.writeFile(uri, Buffer.from('x'))
    assert.strictEqual(workspace.fs.isWritableFileSystem('rw'), true)
    assert.strictEqual(await read(uri), 'x')
    const d = await workspace.openTextDocument(uri)
    assert.strictEqual(d.getText(), 'x')
  }),
  'a watcher asks a file system, recursively or not': async () => {
    assert.strictEqual((await watching('w1', '*.txt', [])).recursive, false)
    assert.strictEqual((await watching('w2', '**/*.txt', [])).recursive, true)
  },
  'a watcher tells what was made, changed and deleted': async () => {
    const folder = Uri.joinPath(await file(), '..')
    const watcher = workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, '*.txt'))
    await during([watcher], async () => {
      const uri = Uri.joinPath(folder, 'new.txt')
      const is = e => e.path === uri.path
      for (const [event, act] of [
        [watcher.onDidCreate, () => workspace.fs.writeFile(uri, Buffer.from('1'))],
        [watcher.onDidChange, () => workspace.fs.writeFile(uri, Buffer.from('22'))],
        [watcher.onDidDelete, () => workspace.fs.delete(uri)],
      ]) {
        const seen = next(event, is)
        await act()
        await seen
      }
    })
  },
  'findFiles finds by a pattern': async () => {
    await workspace.fs.writeFile(at('found.one'), Buffer.from(''))
    assert.deepStrictEqual((await workspace.findFiles('*.one')).map(u => workspace.asRelativePath(u)), ['found.one'])
    assert.deepStrictEqual(await workspace.findFiles('*.none'), [])
  },
  'folders of the workspace': () => {
    assert.strictEqual(workspace.workspaceFolders.length, 1)
    assert.strictEqual(workspace.rootPath, root().fsPath)
    assert.strictEqual(workspace.getWorkspaceFolder(at('far.js')).uri.fsPath, root().fsPath)
    assert.strictEqual(workspace.getWorkspaceFolder(Uri.file('/elsewhere')), undefined)
    assert.strictEqual(workspace.workspaceFile, undefined)
  },
})
