// It loops in a function that another extension exports: the innermost frame is not its own.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const misled = vscode.extensions.getExtension('hostsup.misled');
  context.subscriptions.push(vscode.commands.registerCommand('loops.run', (how) => {
    if (how) setTimeout(() => misled.exports.each(() => 0), 100);
    return process.pid;
  }));
};
