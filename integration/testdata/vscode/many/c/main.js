'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('c.run', () => process.pid));
  return { name: 'c' };
};
