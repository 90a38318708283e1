// An extension that does to its host what the supervisor has to bear.
'use strict';
const vscode = require('vscode');
const { spawn } = require('child_process');
const net = require('net');

// connection is the socket to the supervisor.
const connection = () => process._getActiveHandles().find((h) => h instanceof net.Socket && !h.isTTY && h.fd === undefined && h !== process.channel &&
  h !== process.stdout && h !== process.stderr && h !== process.stdin);

let leaving = 'well';

exports.activate = (context) => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('hard.' + name, run));
  command('ping', () => 'pong');
  // A frame that says it has so many bytes, and the first of them.
  command('claim', (length) => {
    const head = Buffer.alloc(13 + 4096);
    head.writeUInt8(1, 0);
    head.writeUInt32BE(1 << 30, 1);
    head.writeUInt32BE(length, 9);
    connection().write(head);
    return new Promise(() => {});
  });
  command('text', (length) => 'x'.repeat(length));
  // What V8's heap limit does not count.
  const held = [];
  command('hold', (mib) => {
    for (let i = 0; i < mib; i++) {
      held.push(Buffer.alloc(1 << 20, 1));
    }
    return held.length;
  });
  // Children that are deaf, one in a session of its own, with one of its own.
  command('litter', () => {
    const deaf = "trap '' TERM INT HUP; sleep 1000 & while :; do sleep 1000; done";
    const env = { ...process.env };
    return [true, false].map((detached) => spawn('sh', ['-c', deaf], { detached, env, stdio: 'ignore' }).pid);
  });
  command('leave', (how) => { leaving = how; });
  command('exit', (code) => process.reallyExit(code));
  command('spin', () => { for (;;); });
  command('end', (how) => {
    setImmediate(() => {
      switch (how) {
        case 'socket': connection().end(); break;
        case 'idle': connection().destroy(); break;
      }
    });
  });
};

exports.deactivate = () => {
  switch (leaving) {
    case 'never': return new Promise(() => {});
    case 'busy': for (;;);
  }
};
