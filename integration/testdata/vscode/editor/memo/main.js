// It tells what an editor has given it.
'use strict';
const fs = require('fs');
const vscode = require('vscode');

// The namespace of its process, and the process's id in there.
const id = () => fs.readlinkSync('/proc/self/ns/pid') + ' ' + process.pid;

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('memo.' + name, run));
  const heard = [];
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((e) => heard.push(e.affectsConfiguration('memo'))));
  command('run', id);
  command('get', (key, languageId) => vscode.workspace.getConfiguration(undefined, { languageId }).get(key));
  command('heard', () => heard);
  command('workspace', () => ({
    name: vscode.workspace.name,
    trusted: vscode.workspace.isTrusted,
    folders: (vscode.workspace.workspaceFolders || []).map((f) => f.uri.fsPath),
  }));
  command('storage', () => ({
    global: context.globalStorageUri.fsPath,
    workspace: context.storageUri && context.storageUri.fsPath,
    logs: context.logUri.fsPath,
  }));
  command('remember', (key, value, workspace) => (workspace ? context.workspaceState : context.globalState).update(key, value));
  command('recall', (key, workspace) => (workspace ? context.workspaceState : context.globalState).get(key));
  command('keep', (key, value) => context.secrets.store(key, value));
  command('kept', (key) => context.secrets.get(key));
  command('forget', (key) => context.secrets.delete(key));
  command('keys', () => (context.secrets.keys ? context.secrets.keys() : undefined));
  command('keepAll', (key, values) => Promise.all(values.map((v) => context.secrets.store(key, v))));
  const news = [];
  context.subscriptions.push(context.secrets.onDidChange((e) => news.push(e.key)));
  command('news', () => news);
  command('tell', async (key) => fs.writeSync(2, `it is ${await context.secrets.get(key)}.\n`));
  command('die', async (key) => {
    fs.writeSync(2, `and last ${await context.secrets.get(key)}\n`);
    process.abort();
  });
  command('write', (path, text) => fs.writeFileSync(path, text));
  command('read', (path) => fs.readFileSync(path, 'utf8'));
  command('measure', (bytes, text) => [bytes.byteLength, text]);
  command('fail', () => { throw new RangeError('on purpose'); });
  command('apply', () => vscode.commands.executeCommand('third.apply', id));
  command('call', (...args) => vscode.commands.executeCommand(...args));
};
