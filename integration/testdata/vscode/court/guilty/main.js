// It brings the whole host down, mostly in a timer, while nothing speaks against it.
'use strict';
const vscode = require('vscode');
const { execSync } = require('child_process');
const fs = require('fs');

const kept = [];
let context;
const ways = {
  abort: () => process.abort(),
  heap: () => { for (;;) kept.push(new Array(1e5).fill({})); },
  memory: () => { for (;;) kept.push(Buffer.alloc(16 << 20, 1)); },
  leak: () => setInterval(() => { for (let i = 0; i < 20; i++) kept.push(new Array(1e4).fill(i)); }, 20),
  buffers: () => setInterval(() => kept.push(Buffer.alloc(2 << 20, 1)), 20),
  execSync: () => execSync('sleep 300'),
  pipe: () => {
    const folder = context.globalStorageUri.fsPath, path = folder + '/pipe';
    fs.mkdirSync(folder, { recursive: true });
    if (!fs.existsSync(path)) execSync(`mkfifo '${path}'`);
    fs.readFileSync(path, 'utf8');
  },
  native: () => {
    require('./native.node'); // of which the test makes a copy
    process.kill(process.pid, 'SIGSEGV');
  },
  message: () => vscode.commands.executeCommand('setContext', 'large', 'x'.repeat(80 << 20)),
  state: () => context.globalState.update('large', 'x'.repeat(80 << 20)),
  async: async () => {
    setTimeout(() => process.kill(process.pid, 'SIGSEGV'), 3000);
    await vscode.extensions.getExtension('hostsup.misled').exports.fails();
  },
  uncaught: () => {
    setTimeout(() => process.abort(), 300);
    throw new Error('nobody catches this');
  },
};

exports.activate = (c) => {
  context = c;
  context.subscriptions.push(vscode.commands.registerCommand('guilty.run', (how) => {
    if (how === 'now') process.abort();
    if (how === 'answer') return 'x'.repeat(80 << 20);
    if (how) setTimeout(ways[how], 300);
    return process.pid;
  }));
};
