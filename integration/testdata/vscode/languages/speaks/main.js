// An extension that asks for languages and shows the status of one.
'use strict';
const vscode = require('vscode');

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('speaks.' + name, run));
  command('languages', () => vscode.languages.getLanguages());
  command('status', (text) => {
    const item = vscode.languages.createLanguageStatusItem('version', 'esperanto');
    item.name = 'Esperanto';
    item.text = text;
    context.subscriptions.push(item);
  });
};
