'use strict'

const assert = require('assert')
const vscode = require('vscode')
const { workspace, window, languages, Uri, EndOfLine } = vscode
const { file, editor, at, apply, start, fails, during, next, exists } = require('./tools.js')

// provider serves the texts of a scheme.
const provider = (scheme, provideTextDocumentContent, onDidChange) => workspace.registerTextDocumentContentProvider(scheme, { provideTextDocumentContent, onDidChange })

module.exports = () => ({
  'lists of the workspace are read-only': () => {
    assert.ok(Array.isArray(workspace.textDocuments))
    assert.throws(() => { workspace.textDocuments = null })
    assert.throws(() => { workspace.rootPath = 'other' })
  },
  'openTextDocument adds to textDocuments': async () => {
    const before = workspace.textDocuments.length
    await workspace.openTextDocument(await file('text'))
    assert.strictEqual(workspace.textDocuments.length, before + 1)
  },
  'openTextDocument fails for a path that is missing': () => fails(workspace.openTextDocument('missing.txt')),
  'openTextDocument of an untitled path is dirty': async () => {
    const d = await workspace.openTextDocument(at('new-a.txt').with({ scheme: 'untitled' }))
    assert.deepStrictEqual([d.uri.scheme, d.isDirty, d.isUntitled], ['untitled', true, true])
  },
  'openTextDocument of an untitled path with a host': async () => {
    const d = await workspace.openTextDocument(Uri.parse('untitled://localhost/c%24/code/file.txt'))
    assert.strictEqual(d.uri.scheme, 'untitled')
  },
  'openTextDocument without arguments is untitled and not dirty': async () => {
    const d = await workspace.openTextDocument()
    assert.deepStrictEqual([d.uri.scheme, d.isDirty], ['untitled', false])
  },
  'openTextDocument with a language': async () => {
    const d = await workspace.openTextDocument({ language: 'json' })
    assert.deepStrictEqual([d.uri.scheme, d.languageId], ['untitled', 'json'])
  },
  'openTextDocument with a language and a content': async () => {
    const d = await workspace.openTextDocument({ language: 'html', content: '<h1>Hi</h1>' })
    assert.deepStrictEqual([d.languageId, d.isDirty, d.getText()], ['html', true, '<h1>Hi</h1>'])
  },
  'openTextDocument twice is one document': async () => {
    const uri = await file('text')
    const [a, b] = await Promise.all([workspace.openTextDocument(uri), workspace.openTextDocument(uri)])
    assert.ok(a === b)
  },
  'an untitled document with a path is written by save and closed': async () => {
    const target = at('new-b.txt')
    const d = await workspace.openTextDocument(target.with({ scheme: 'untitled' }))
    const closed = []
    await during([workspace.onDidCloseTextDocument(e => closed.push(e))], async () => {
      await window.showTextDocument(d)
      assert.ok(await d.save())
    })
    assert.ok(closed.includes(d))
    assert.ok(!d.isDirty)
    assert.ok(await exists(target))
  },
  'content of a provider for URIs of all forms': async () => {
    await during([provider('sc', () => 'text')], async () => {
      for (const [text, authority, path] of [['sc://auth', 'auth', ''], ['sc:///path', '', '/path'], ['sc://auth/path', 'auth', '/path']]) {
        const d = await workspace.openTextDocument(Uri.parse(text))
        assert.deepStrictEqual([d.uri.authority, d.uri.path, d.getText(), d.isDirty], [authority, path, 'text', false])
      }
    })
  },
  'content of a provider is shown': () => during([provider('shown', uri => uri.toString())], async () => {
    const uri = Uri.parse('shown://some/path')
    const d = await workspace.openTextDocument(uri)
    const e = await window.showTextDocument(d)
    assert.ok(e.document === d)
    assert.strictEqual(e.document.getText(), uri.toString())
  }),
  'content of a provider may be empty': () => during([provider('empty', () => '')], async () => {
    assert.strictEqual((await workspace.openTextDocument(Uri.parse('empty:doc/none'))).getText(), '')
  }),
  'content of a provider that is no text fails': () => during([provider('wrong', () => 123)], () => fails(workspace.openTextDocument(Uri.parse('wrong://auth/path')))),
  'content of a scheme without provider fails': () => fails(workspace.openTextDocument(Uri.parse('notThere://foo/bar'))),
  'built-in schemes have no other provider': () => {
    for (const scheme of ['file', 'untitled']) assert.throws(() => provider(scheme, () => null))
  },
  'the second provider of a scheme is asked if the first has nothing': () => during([
    provider('two', uri => uri.authority === 'a' ? '1' : undefined), provider('two', uri => uri.authority === 'b' ? '2' : undefined),
  ], async () => {
    assert.strictEqual((await workspace.openTextDocument(Uri.parse('two://a/x'))).getText(), '1')
    assert.strictEqual((await workspace.openTextDocument(Uri.parse('two://b/x'))).getText(), '2')
  }),
  'a provider that throws does not hide another one': () => during([
    provider('evil', () => '1'), provider('evil', () => { throw new Error('evil') }),
  ], async () => {
    assert.strictEqual((await workspace.openTextDocument(Uri.parse('evil://a/x'))).getText(), '1')
  }),
  'a provider is asked once for one document': async () => {
    let calls = 0
    await during([provider('once', () => { calls++; return 'text' })], async () => {
      const uri = Uri.parse('once://a/x')
      const [a, b] = await Promise.all([workspace.openTextDocument(uri), workspace.openTextDocument(uri)])
      assert.ok(a === b)
      assert.strictEqual(calls, 1)
    })
  },
  'a provider changes its content': async () => {
    let calls = 0
    const changes = new vscode.EventEmitter()
    await during([provider('changing', () => `call ${calls++}`, changes.event)], async () => {
      const d = await workspace.openTextDocument(Uri.parse('changing://a/x'))
      assert.strictEqual(d.getText(), 'call 0')
      const changed = next(workspace.onDidChangeTextDocument, e => e.document === d)
      changes.fire(d.uri)
      assert.strictEqual((await changed).document.getText(), 'call 1')
    })
  },
  'the end of lines is the one that most lines have': async () => {
    const eol = async text => (await workspace.openTextDocument(await file(text))).eol
    assert.strictEqual(await eol('foo\nbar\nbar'), EndOfLine.LF)
    assert.strictEqual(await eol('foo\nbar\nbar\r\nbaz'), EndOfLine.LF)
    assert.strictEqual(await eol('foo\r\nbar\r\nbar'), EndOfLine.CRLF)
  },
  'the end of lines is changed by an editor': async () => {
    const e = await editor('foo\nbar\nbar')
    assert.ok(await e.edit(b => b.setEndOfLine(EndOfLine.CRLF)))
    assert.deepStrictEqual([e.document.eol, e.document.isDirty], [EndOfLine.CRLF, true])
  },
  'the end of lines is changed by a workspace edit': async () => {
    const d = await workspace.openTextDocument(await file('foo\nbar\nbar'))
    assert.ok(await apply(edit => edit.set(d.uri, [vscode.TextEdit.setEndOfLine(EndOfLine.CRLF)])))
    assert.deepStrictEqual([d.eol, d.isDirty], [EndOfLine.CRLF, true])
  },
  'the end of lines is changed before a save': async () => {
    const d = await workspace.openTextDocument(await file('foo\r\nbar\r\nbar'))
    await during([workspace.onWillSaveTextDocument(e => e.waitUntil(Promise.resolve([vscode.TextEdit.setEndOfLine(EndOfLine.LF)])))], async () => {
      assert.ok(await apply(edit => edit.insert(d.uri, start, '-changes-')))
      assert.ok(await d.save())
    })
    assert.deepStrictEqual([d.eol, d.isDirty], [EndOfLine.LF, false])
  },
  'opening, changing and saving are events': async () => {
    const uri = await file()
    const seen = []
    const note = what => e => { if ((e.document ?? e).uri.toString() === uri.toString()) seen.push(what) }
    await during([workspace.onDidOpenTextDocument(note('open')), workspace.onDidChangeTextDocument(note('change')), workspace.onDidSaveTextDocument(note('save'))], async () => {
      const e = await window.showTextDocument(await workspace.openTextDocument(uri))
      assert.ok(await e.edit(b => b.insert(start, 'Hello World')))
      assert.ok(await e.document.save())
    })
    assert.ok(seen[0] === 'open' && seen.includes('change') && seen.at(-1) === 'save', `${seen}`)
  },
  'setTextDocumentLanguage closes and opens the document': async () => {
    const d = await workspace.openTextDocument(await file('foo'))
    const before = d.languageId
    const seen = []
    await during([workspace.onDidCloseTextDocument(e => { if (e === d) seen.push(`close ${e.languageId}`) }), workspace.onDidOpenTextDocument(e => { if (e === d) seen.push(`open ${e.languageId}`) })], async () => {
      await languages.setTextDocumentLanguage(d, 'json')
    })
    assert.deepStrictEqual(seen, [`close ${before}`, 'open json'])
    assert.strictEqual(d.languageId, 'json')
  },
  'setTextDocumentLanguage fails for a language that is unknown': async () => fails(languages.setTextDocumentLanguage(await workspace.openTextDocument(await file('foo')), 'missing')),
  'a document has the text of its file, small and large': async () => {
    for (const text of ['a\n', 'Lorem ipsum dolor sit amet.\n'.repeat(100_000)]) {
      const uri = await file(text)
      assert.ok((await workspace.openTextDocument(uri)).getText() === text)
    }
  },
})
