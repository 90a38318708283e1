// It does nothing wrong, but whenever the host ends it is doing something.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('misled.run', (what) => {
    switch (what) {
      case 'wait': return new Promise(() => {});
      case 'calls': return vscode.commands.executeCommand('guilty.run', 'now');
      case 'rejects':
        for (let i = 0; i < 10000; i++) Promise.reject(new Error('rejected'));
        break;
    }
    return process.pid;
  }));
  return {
    each: (f) => { for (;;) f(); },
    fails: async () => {
      await null;
      throw new Error('it fails');
    },
  };
};
