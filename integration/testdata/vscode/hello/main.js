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
  command('wait', () => new Promise(() => {}));
  command('exit', (code) => process.reallyExit(code));
  command('abort', () => process.abort());
  command('grow', () => {
    for (const all = []; ; all.push({ n: all.length }));
  });
  command('ask', () => vscode.commands.executeCommand('main.side', { from: 'hello' }));
  command('print', (text) => console.log(text));
  command('reject', () => { Promise.reject(new Error('nobody catches this')); });
};

exports.deactivate = () => {
  console.error('hello is deactivated');
  require('fs').writeSync(2, 'deactivated\n');
};
