// It has others do what it is asked for.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('other.' + name, run));
  command('run', () => process.pid);
  command('call', (...args) => vscode.commands.executeCommand(...args));
  command('bytes', () => vscode.commands.executeCommand('memo.measure', new Uint8Array(1000), 'text'));
  command('commands', () => vscode.commands.getCommands(true));
};
