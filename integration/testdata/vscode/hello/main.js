// An extension with a command for each thing that a host can do.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('hello.' + name, run));
  command('greet', (who) => `hello ${who}`);
  command('echo', (...args) => args);
  command('nothing', () => undefined);
  command('fail', () => {
    const err = new TypeError('on purpose');
    err.code = 'EPURPOSE';
    throw err;
  });
  command('spin', (ms) => {
    for (const end = Date.now() + ms; Date.now() < end;);
    return ms;
  });
  command('later', (ms) => new Promise((resolve) => setTimeout(resolve, ms, ms)));
  command('wait', () => new Promise(() => {}));
  command('exit', (code) => process.reallyExit(code));
  command('abort', () => process.abort());
  command('grow', () => {
    for (const all = []; ; all.push({ n: all.length }));
  });
  context.subscriptions.push(vscode.languages.registerWorkspaceSymbolProvider({
    provideWorkspaceSymbols: (query, token) => new Promise((resolve, reject) => {
      vscode.commands.executeCommand('main.asked', query);
      token.onCancellationRequested(() => {
        vscode.commands.executeCommand('main.cancelled', query);
        reject(new vscode.CancellationError());
      });
    }),
  }));
  command('ask', () => vscode.commands.executeCommand('main.side', { from: 'hello' }));
  let calls = 0;
  command('count', () => ++calls);
  // Breaks the connection of the whole host, as a network would.
  command('cut', () => {
    const all = process._getActiveHandles().filter((h) => h instanceof require('net').Socket && !h.isTTY && h.fd === undefined && h !== process.channel);
    const cut = all.filter((h) => h !== process.stdout && h !== process.stderr && h !== process.stdin);
    setImmediate(() => cut.forEach((h) => h.destroy()));
    return cut.length;
  });
  command('listeners', (event) => process.listenerCount(event));
  command('print', (text) => console.log(text));
  command('reject', () => { Promise.reject(new Error('nobody catches this')); });
};

exports.deactivate = () => {
  console.error('hello is deactivated');
  require('fs').writeSync(2, 'deactivated\n');
};
