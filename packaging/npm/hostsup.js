#!/usr/bin/env node
// Runs the program of the package for this system, which npm has installed beside this
// one, with the same streams and signals, and ends as it does.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@hostsup/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/hostsup`);
} catch {
  console.error(`hostsup: the package ${name} is not installed: either there is none for this system, or npm was told to leave out optional dependencies`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`hostsup: ${program}: ${err.message}`);
  process.exit(1);
});
// A terminal sends these to both; what somebody sends to this process alone is handed on.
const own = new Set(["SIGKILL", "SIGSTOP", "SIGCHLD", "SIGURG", "SIGPIPE", "SIGPROF", "SIGUSR1", "SIGWINCH", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU"]);
for (const signal of Object.keys(constants.signals)) {
  if (own.has(signal)) continue;
  try {
    process.on(signal, () => {
      if (!(process.stdin.isTTY && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal);
    });
  } catch {
    // one that cannot be caught
  }
}
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
