// Two file systems in memory, one of which cannot be written.
const vscode = require('vscode');

class Memory {
  constructor() {
    this.entries = new Map([['/', undefined]]); // content by path, undefined for a folder
    this.emitter = new vscode.EventEmitter();
    this.onDidChangeFile = this.emitter.event;
  }
  has(u) {
    if (!this.entries.has(u.path)) throw vscode.FileSystemError.FileNotFound(u);
    return this.entries.get(u.path);
  }
  tell(type, u) { this.emitter.fire([{ type, uri: u }]); }
  watch() { return new vscode.Disposable(() => {}); }
  stat(u) {
    const data = this.has(u);
    return { type: data ? vscode.FileType.File : vscode.FileType.Directory, ctime: 1, mtime: 2, size: data ? data.length : 0 };
  }
  readDirectory(u) {
    this.has(u);
    const at = u.path === '/' ? '/' : u.path + '/';
    return [...this.entries.keys()].filter(p => p !== '/' && p.startsWith(at) && !p.slice(at.length).includes('/'))
      .map(p => [p.slice(at.length), this.entries.get(p) ? vscode.FileType.File : vscode.FileType.Directory]);
  }
  createDirectory(u) { this.entries.set(u.path, undefined); this.tell(vscode.FileChangeType.Created, u); }
  readFile(u) { return this.has(u); }
  writeFile(u, data) {
    const type = this.entries.has(u.path) ? vscode.FileChangeType.Changed : vscode.FileChangeType.Created;
    this.entries.set(u.path, data);
    this.tell(type, u);
  }
  delete(u) {
    this.has(u);
    for (const p of [...this.entries.keys()]) if (p === u.path || p.startsWith(u.path + '/')) this.entries.delete(p);
    this.tell(vscode.FileChangeType.Deleted, u);
  }
  rename(from, to) {
    this.entries.set(to.path, this.has(from));
    this.entries.delete(from.path);
  }
}

exports.activate = context => {
  const fixed = new Memory();
  fixed.entries.set('/a', Buffer.from('fixed'));
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider('memory', new Memory(), { isCaseSensitive: true }),
    vscode.workspace.registerFileSystemProvider('fixed', fixed, { isReadonly: true }));
};
