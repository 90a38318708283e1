// Uses workspace.fs and watchers as tests say.
const vscode = require('vscode');

const seen = [];
let waiting = [];
const watchers = new Map();

function uri(text) { return text.startsWith('/') ? vscode.Uri.file(text) : vscode.Uri.parse(text); }

// errorOf is what an extension looks at.
function errorOf(e) {
  return { error: e instanceof vscode.FileSystemError ? e.code : e.name, message: e.message };
}

async function run(method, a, b, options) {
  const fs = vscode.workspace.fs;
  switch (method) {
    case 'writeFile': return fs.writeFile(uri(a), Buffer.from(b));
    case 'readFile': return Buffer.from(await fs.readFile(uri(a))).toString();
    case 'isWritableFileSystem': return { writable: fs.isWritableFileSystem(a) };
    case 'rename': case 'copy': return fs[method](uri(a), uri(b), options);
    case 'delete': return fs.delete(uri(a), b);
    default: return fs[method](uri(a));
  }
}

exports.activate = context => {
  const command = (name, f) => context.subscriptions.push(vscode.commands.registerCommand(name, f));
  command('files.do', async (...args) => {
    try {
      return (await run(...args)) ?? 'done';
    } catch (e) {
      return errorOf(e);
    }
  });
  command('files.watch', (name, pattern, base) => {
    const w = vscode.workspace.createFileSystemWatcher(base ? new vscode.RelativePattern(uri(base), pattern) : pattern);
    const note = kind => u => {
      seen.push(`${name} ${kind} ${u.scheme === 'file' ? u.fsPath : u.toString()}`);
      for (const f of waiting.splice(0)) f();
    };
    w.onDidCreate(note('create'));
    w.onDidChange(note('change'));
    w.onDidDelete(note('delete'));
    watchers.set(name, w);
    return true;
  });
  command('files.unwatch', name => { watchers.get(name).dispose(); return watchers.delete(name); });
  command('files.all', () => seen);
  // Settles when the text was seen.
  command('files.seen', async text => {
    while (!seen.includes(text)) await new Promise(f => waiting.push(f));
    return seen;
  });
};
