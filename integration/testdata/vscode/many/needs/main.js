// It uses what another extension exports.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const a = vscode.extensions.getExtension('hostsup.a');
  const before = a.isActive && a.exports.name;
  context.subscriptions.push(vscode.commands.registerCommand('needs.run', () => before));
};
