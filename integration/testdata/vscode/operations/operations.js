// Makes workspace edits, answers those of others with edits, and keeps the events of both.
const vscode = require('vscode')

const short = uri => uri.path.split('/').pop()

// edits makes a workspace edit of a list such as [['create', path, text], ['rename', from, to]].
const edits = list => {
  const edit = new vscode.WorkspaceEdit()
  for (const [what, path, text] of list) {
    const uri = vscode.Uri.file(path)
    switch (what) {
      case 'create': edit.createFile(uri, text === undefined ? {} : { contents: Buffer.from(text) }); break
      case 'overwrite': edit.createFile(uri, { overwrite: true, contents: Buffer.from(text) }); break
      case 'rename': edit.renameFile(uri, vscode.Uri.file(text)); break
      case 'delete': edit.deleteFile(uri, { recursive: true }); break
      case 'insert': edit.insert(uri, new vscode.Position(0, 0), text); break
    }
  }
  return edit
}

exports.activate = name => context => {
  const { workspace, window, commands, Uri } = vscode
  const events = []
  let look = () => {}
  const happened = text => { events.push(text); look() }
  const answers = {}
  const command = (what, run) => context.subscriptions.push(commands.registerCommand(`${name}.${what}`, run))
  for (const what of ['Create', 'Rename', 'Delete']) {
    const files = e => e.files.map(f => f.oldUri ? `${short(f.oldUri)}>${short(f.newUri)}` : short(f)).join(' ')
    workspace[`onWill${what}Files`](e => {
      happened(`will ${what} ${files(e)}`)
      const answer = answers[what]
      delete answers[what] // an edit of a file is an operation, too
      if (answer === 'throw') e.waitUntil(Promise.reject(new Error('no')))
      else if (answer) e.waitUntil(Promise.resolve(edits(answer)))
    })
    workspace[`onDid${what}Files`](e => happened(`did ${what} ${files(e)}`))
  }
  command('apply', list => workspace.applyEdit(edits(list)))
  command('answer', (what, list) => { answers[what] = list })
  // The events since the last look, when there are at least that many.
  command('events', least => new Promise(resolve => {
    look = () => { if (events.length >= least) { look = () => {}; resolve(events.splice(0)) } }
    look()
  }))
  command('show', async path => { await window.showTextDocument(await workspace.openTextDocument(Uri.file(path))) })
  command('write', (path, text) => workspace.fs.writeFile(Uri.file(path), Buffer.from(text)))
  command('run', (what, ...args) => commands.executeCommand(what, ...args))
  // What another extension, which may be in another host, is from here.
  command('finds', id => [vscode.extensions.getExtension(id)?.id ?? 'none', vscode.extensions.all.some(x => x.id === id)])
  command('texts', () => Object.fromEntries(workspace.textDocuments.map(d => [short(d.uri), d.getText()])))
}
