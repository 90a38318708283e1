// A command of it brings the whole host down.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('bad.run', (how) => {
    if (how === 'abort') process.abort();
    if (how === 'fault') process.kill(process.pid, 'SIGSEGV'); // no stack is printed
    if (how === 'spin') for (;;);
    return process.pid;
  }));
};
