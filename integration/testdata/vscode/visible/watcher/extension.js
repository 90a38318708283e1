// As VS Code's own client of LSP does: problems are reported for documents that have a tab.
const vscode = require('vscode');
exports.activate = (context) => {
  const problems = vscode.languages.createDiagnosticCollection('watcher');
  const look = () => {
    problems.clear();
    for (const tab of vscode.window.tabGroups.all.flatMap((g) => g.tabs)) {
      if (!tab.label.endsWith('.acme')) continue;
      const active = vscode.window.activeTextEditor?.document.uri.toString() === tab.input.uri.toString();
      const word = active ? 'the active one' : 'a visible one';
      problems.set(tab.input.uri, [new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), word)]);
    }
  };
  context.subscriptions.push(
    problems,
    vscode.window.tabGroups.onDidChangeTabs(look),
    vscode.window.onDidChangeActiveTextEditor(look),
    vscode.languages.registerDocumentFormattingEditProvider('acme', { provideDocumentFormattingEdits: () => [] }),
    vscode.commands.registerCommand('watcher.tabs', () =>
      vscode.window.tabGroups.all.flatMap((g) => g.tabs.map((t) => t.label + (t.isActive ? '*' : ''))).join(' ')),
  );
  look();
};
