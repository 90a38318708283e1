'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('a.run', () => process.pid));
  return { name: 'a' };
};
