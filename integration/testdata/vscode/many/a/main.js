// It exports something, and has a command that its manifest does not name.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('a.' + name, run));
  command('run', () => process.pid);
  command('wait', () => new Promise(() => {}));
  return { name: 'a' };
};
