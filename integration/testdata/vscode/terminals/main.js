const vscode = require('vscode');

// until resolves with the first event for which ok is true.
const until = (event, ok) => new Promise(done => {
  const listener = event(e => { if (ok(e)) { listener.dispose(); done(e); } });
});

const kept = [];

exports.activate = context => {
  const command = (name, f) => context.subscriptions.push(vscode.commands.registerCommand('terminals.' + name, f));
  context.environmentVariableCollection.prepend('MARK', 'before-');

  command('shell', async (cwd, script, ...lines) => {
    const opened = until(vscode.window.onDidOpenTerminal, t => t.name === 'a shell');
    const t = vscode.window.createTerminal({ name: 'a shell', shellPath: '/bin/sh', shellArgs: ['-c', script], cwd, env: { MARK: 'mark', HOME: null } });
    const closed = until(vscode.window.onDidCloseTerminal, c => c === t);
    for (const line of lines) t.sendText(line);
    await opened;
    const pid = await t.processId;
    await closed;
    return { pid, code: t.exitStatus.code, reason: t.exitStatus.reason, open: vscode.window.terminals.length };
  });

  command('sleeps', async () => {
    const t = vscode.window.createTerminal('sleeps');
    kept.push(t);
    return await t.processId;
  });

  command('dispose', async () => {
    const t = kept.pop();
    const closed = until(vscode.window.onDidCloseTerminal, c => c === t);
    t.dispose();
    await closed;
    return t.exitStatus.reason;
  });

  command('missing', async () => {
    const t = vscode.window.createTerminal({ name: 'missing', shellPath: '/no/such/program' });
    const closed = until(vscode.window.onDidCloseTerminal, c => c === t);
    const pid = await t.processId;
    await closed;
    return pid === undefined;
  });

  command('played', async () => {
    const write = new vscode.EventEmitter(), close = new vscode.EventEmitter();
    const heard = [];
    const t = vscode.window.createTerminal({
      name: 'played',
      pty: {
        onDidWrite: write.event, onDidClose: close.event,
        open: size => { heard.push(size.columns > 0); write.fire('hello'); },
        close: () => heard.push('closed'),
        handleInput: text => { heard.push(text); if (text.includes('end')) close.fire(7); },
      },
    });
    const closed = until(vscode.window.onDidCloseTerminal, c => c === t);
    await t.processId;
    t.sendText('go');
    t.sendText('end', false);
    await closed;
    return { heard, code: t.exitStatus.code };
  });

  const task = (name, execution) => new vscode.Task({ type: 'acme' }, vscode.TaskScope.Workspace, name, 'acme', execution);

  command('task', async (kind, cwd) => {
    const execution = {
      process: () => new vscode.ProcessExecution('/bin/sh', ['-c', 'echo $0 > task-$A; exit 4', 'process'], { cwd, env: { A: 'p' } }),
      shell: () => new vscode.ShellExecution('echo "${workspaceFolderBasename} $A" > task-s && exit 5', { cwd, env: { A: 's' } }),
      words: () => new vscode.ShellExecution('/bin/echo', ['a b', { value: '$HOME', quoting: vscode.ShellQuoting.Strong }, { value: "it's", quoting: vscode.ShellQuoting.Weak }, { value: '>', quoting: vscode.ShellQuoting.Escape }], { cwd }),
      custom: () => new vscode.CustomExecution(async () => {
        const write = new vscode.EventEmitter(), close = new vscode.EventEmitter();
        return { onDidWrite: write.event, onDidClose: close.event, open: () => { write.fire('x'); close.fire(6); }, close: () => {} };
      }),
      forever: () => new vscode.ProcessExecution('/bin/sleep', ['1000']),
    }[kind]();
    const events = [];
    const listeners = [
      vscode.tasks.onDidStartTask(e => events.push('start ' + e.execution.task.name)),
      vscode.tasks.onDidStartTaskProcess(e => events.push('process ' + (e.processId > 0))),
      vscode.tasks.onDidEndTaskProcess(e => events.push('exit ' + e.exitCode)),
    ];
    const ended = until(vscode.tasks.onDidEndTask, e => e.execution.task.name === kind);
    const running = until(vscode.tasks.onDidStartTaskProcess, () => true);
    const e = await vscode.tasks.executeTask(task(kind, execution));
    if (kind === 'forever') {
      await running;
      e.terminate();
    }
    await ended;
    listeners.forEach(l => l.dispose());
    return events;
  });

  context.subscriptions.push(vscode.tasks.registerTaskProvider('acme', {
    provideTasks: () => [task('one', new vscode.ShellExecution('exit 0')), task('two', new vscode.ProcessExecution('/bin/true'))],
    resolveTask: t => t,
  }));
  command('fetch', async () => {
    const all = await vscode.tasks.fetchTasks({ type: 'acme' });
    const two = all.find(t => t.name === 'two');
    const ended = until(vscode.tasks.onDidEndTaskProcess, () => true);
    await vscode.tasks.executeTask(two);
    return { names: all.map(t => t.name), none: (await vscode.tasks.fetchTasks({ type: 'other' })).length, code: (await ended).exitCode };
  });

  command('window', async () => {
    await vscode.env.clipboard.writeText('kept');
    const uri = await vscode.env.asExternalUri(vscode.Uri.parse('http://localhost:8080/x?y'));
    const session = await vscode.authentication.getSession('github', ['repo'], { silent: true });
    let refused = '';
    try { await vscode.authentication.getSession('github', ['repo'], { createIfNone: true }); } catch (e) { refused = e.message; }
    return { text: await vscode.env.clipboard.readText(), uri: uri.toString(true), session: session === undefined, refused };
  });

  command('refused', async () => {
    const out = {};
    for (const [name, f] of Object.entries({
      startDebugging: () => vscode.debug.startDebugging(undefined, { type: 'x', name: 'x', request: 'launch' }),
      notebook: () => vscode.workspace.openNotebookDocument(vscode.Uri.file('/x.ipynb')),
    })) {
      try { out[name] = 'result ' + JSON.stringify(await f()); } catch (e) { out[name] = e.message; }
    }
    return out;
  });
};
