// It has commands that end, and one that does not.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('calm.run', () => process.pid));
  context.subscriptions.push(vscode.commands.registerCommand('calm.wait', () => new Promise(() => {})));
};
