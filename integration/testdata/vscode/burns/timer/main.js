// It burns the processor in a timer, in which nobody has called it.
'use strict';
const vscode = require('vscode');

function burnTheProcessor(ms) {
  for (const end = Date.now() + ms; Date.now() < end;);
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('timer.run', (ms) => {
    if (ms > 0) setTimeout(burnTheProcessor, 50, ms);
    return process.pid;
  }));
};
