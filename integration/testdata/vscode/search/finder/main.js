// An extension that finds files and text.
'use strict';
const vscode = require('vscode');

const names = (uris) => uris.map((uri) => vscode.workspace.asRelativePath(uri)).sort();
const range = (r) => [r.start.line, r.start.character, r.end.line, r.end.character].join(':');
const within = (pattern, dir) => (dir ? new vscode.RelativePattern(vscode.Uri.file(dir), pattern) : pattern);

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('finder.' + name, run));
  command('files', async (include, exclude, max, dir) => names(await vscode.workspace.findFiles(within(include, dir), exclude, max)));
  command('files2', async (patterns, options) => names(await vscode.workspace.findFiles2(patterns, options)));
  command('cancelled', async (include) => {
    const source = new vscode.CancellationTokenSource();
    const found = vscode.workspace.findFiles(include, undefined, undefined, source.token);
    source.cancel();
    return (await found).length;
  });
  command('text', async (query, options) => {
    const out = [];
    const end = await vscode.workspace.findTextInFiles(query, options, (r) => {
      const name = vscode.workspace.asRelativePath(r.uri);
      if (r.preview) out.push(`${name} ${[r.ranges].flat().map(range)} ${[r.preview.matches].flat().map(range)} ${r.preview.text}`);
      else out.push(`${name} ${r.lineNumber} ${r.text}`);
    });
    return { out: out.sort(), full: end.limitHit };
  });
  command('text2', async (query, options) => {
    const out = [];
    const search = vscode.workspace.findTextInFiles2(query, options);
    for await (const r of search.results) {
      const name = vscode.workspace.asRelativePath(r.uri);
      out.push(r.ranges ? `${name} ${r.ranges.map((x) => range(x.sourceRange))} ${r.previewText}` : `${name} ${r.lineNumber} ${r.text}`);
    }
    return { out: out.sort(), full: (await search.complete).limitHit };
  });
};
