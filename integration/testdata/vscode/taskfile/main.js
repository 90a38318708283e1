const vscode = require('vscode');

// until resolves with the first event for which ok is true.
const until = (event, ok) => new Promise(done => {
  const listener = event(e => { if (ok(e)) { listener.dispose(); done(e); } });
});

exports.activate = context => {
  const command = (name, f) => context.subscriptions.push(vscode.commands.registerCommand('taskfile.' + name, f));

  const parts = { one: 'exit 0', two: 'exit 2', three: 'echo three >> three' };
  const played = () => new vscode.CustomExecution(async definition => {
    const write = new vscode.EventEmitter(), close = new vscode.EventEmitter();
    return { onDidWrite: write.event, onDidClose: close.event, open: () => { write.fire('played\r\n'); close.fire(definition.part === 'played' ? 6 : 1); }, close: () => {} };
  });
  context.subscriptions.push(vscode.tasks.registerTaskProvider('acme', {
    provideTasks: () => [
      ...Object.entries(parts).map(([part, line]) => new vscode.Task({ type: 'acme', part }, vscode.TaskScope.Workspace, part, 'acme', new vscode.ShellExecution(line))),
      new vscode.Task({ type: 'acme', part: 'played' }, vscode.TaskScope.Workspace, 'played', 'acme', played()),
    ],
    resolveTask: t => t.definition.part === 'later'
      ? new vscode.Task(t.definition, t.scope, 'the name of the extension', 'acme', new vscode.ShellExecution('echo "$TONE $OWN" > later', { env: { TONE: 'extension', OWN: 'own' } })) : undefined,
  }));

  // run runs a task; the result is what events tell until it and the others have ended. The order of events is
  // the host's only for one task.
  command('run', async (name, ...others) => {
    const t = (await vscode.tasks.fetchTasks()).find(t => t.name === name);
    if (!t) return ['missing'];
    const events = [];
    const listeners = [
      vscode.tasks.onDidStartTask(e => events.push('start ' + e.execution.task.name)),
      vscode.tasks.onDidEndTaskProcess(e => events.push('exit ' + e.execution.task.name + ' ' + e.exitCode)),
    ];
    const ended = [name, ...others].map(name => until(vscode.tasks.onDidEndTask, e => e.execution.task.name === name));
    try {
      await vscode.tasks.executeTask(t);
      await Promise.all(ended);
    } catch (e) {
      return [e.message];
    } finally {
      listeners.forEach(l => l.dispose());
    }
    return events;
  });

  // cancel terminates a task while it waits for another one.
  command('cancel', async (name, other) => {
    const t = (await vscode.tasks.fetchTasks()).find(t => t.name === name);
    const started = until(vscode.tasks.onDidStartTaskProcess, e => e.execution.task.name === other);
    const ended = [name, other].map(name => until(vscode.tasks.onDidEndTask, e => e.execution.task.name === name));
    const execution = await vscode.tasks.executeTask(t);
    await started;
    execution.terminate();
    await Promise.all(ended);
    return vscode.tasks.taskExecutions.length;
  });

  command('list', async filter => (await vscode.tasks.fetchTasks(filter)).map(t =>
    [t.name, t.definition.type, t.source, t.scope?.name ?? t.scope, t.group?.id, t.group?.isDefault, t.isBackground, t.detail, t.problemMatchers.join()].join('|')));

  command('value', async word => 'value ' + (word ?? ''));

  command('problems', async path => vscode.languages.getDiagnostics(vscode.Uri.file(path)).map(d =>
    [d.range.start.line + ':' + d.range.start.character, d.severity, d.message, d.source, d.code ?? ''].join(' ')));

  command('send', async (name, text) => vscode.window.terminals.find(t => t.name === name).sendText(text));

  command('show', async path => {
    const e = await vscode.window.showTextDocument(vscode.Uri.file(path));
    e.selection = new vscode.Selection(1, 0, 1, 3);
  });
};
