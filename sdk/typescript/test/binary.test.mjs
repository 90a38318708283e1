// Against hostsup itself, whose path is in HOSTSUP_BINARY: sdk/typescript/check builds it.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const binary = process.env.HOSTSUP_BINARY;
const host = fileURLToPath(new URL("conformance/host.mjs", import.meta.url));

async function start(t, transport, more = "") {
  const dir = mkdtempSync(path.join(tmpdir(), "sdk-"));
  const file = path.join(dir, "config.hcl");
  writeFileSync(file, `supervisor {
  socket    = "${dir}/s.sock"
  state_dir = "${dir}/state"
}

host "h" {
  command   = ["${process.execPath}", "${host}"]
  transport = "${transport}"
${more}
}
`);
  const child = spawn(binary, ["run", "-c", file], { stdio: ["ignore", "ignore", "pipe"] });
  const exit = new Promise((resolve) => child.on("close", resolve));
  t.after(async () => {
    child.kill("SIGTERM");
    await exit;
    rmSync(dir, { recursive: true });
  });
  let said = "";
  await new Promise((resolve, reject) => {
    child.stderr.on("data", (b) => {
      said += b;
      if (said.includes("hostsup: ready")) resolve();
    });
    child.on("close", () => reject(new Error(`hostsup ended: ${said}`)));
  });
  return (...args) =>
    new Promise((resolve) => {
      execFile(binary, [args[0], "--socket", `${dir}/s.sock`, ...args.slice(1)], (e, stdout, stderr) => resolve({ code: e?.code ?? 0, stdout, stderr }));
    });
}

const skip = binary === undefined ? "HOSTSUP_BINARY is not set" : false;

for (const transport of ["fd", "stdio", "unix"]) {
  test(`calls, streams, errors and printing under hostsup (${transport})`, { skip }, async (t) => {
    const hostsup = await start(t, transport);
    assert.equal((await hostsup("call", "h", "conformance/echo", '{"a":[1,2.5,"x",null,9007199254740993]}')).stdout, '{"a":[1,2.5,"x",null,9007199254740993]}\n');
    assert.equal((await hostsup("call", "h", "conformance/print", '{"text":"printed"}')).stdout, "null\n");
    assert.equal((await hostsup("call", "--stream", "h", "conformance/count", '{"n":3}')).stdout, "0\n1\n2\n");
    assert.equal((await hostsup("call", "h", "conformance/count", '{"n":3}')).stdout, "[0,1,2]\n");
    const failed = await hostsup("call", "h", "conformance/fail", '{"name":"Mine","message":"why","code":4}');
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /Mine: why/);
    const status = JSON.parse((await hostsup("status", "--json")).stdout).hosts[0];
    assert.deepEqual([status.state, status.liveness, status.restarts], ["running", "ack", 0]);
  });
}

test("a handler that blocks is busy, not hung", { skip }, async (t) => {
  const hostsup = await start(t, "fd", '  unresponsive {\n    after      = "300ms"\n    kill_after = "5s"\n    ping       = "1h"\n  }');
  assert.equal((await hostsup("call", "h", "conformance/block", '{"ms":1000,"sync":true}')).stdout, "null\n");
  const events = (await hostsup("events", "--json")).stdout;
  assert.ok(!events.includes("unresponsive"), events);
});

test("the walk: kill and restart under a supervisor", { skip }, async (t) => {
  const hostsup = await start(t, "fd");
  const before = JSON.parse((await hostsup("status", "--json")).stdout).hosts[0];
  process.kill(before.pid, "SIGKILL");
  assert.equal((await hostsup("wait", "h", "--state", "running", "--timeout", "10s")).code, 0);
  let after = before;
  while (after.life === before.life || after.state !== "running") after = JSON.parse((await hostsup("status", "--json")).stdout).hosts[0];
  assert.equal((await hostsup("call", "h", "conformance/echo", "1")).stdout, "1\n");
  assert.equal((await hostsup("stop", "h")).code, 0);
  const stopped = JSON.parse((await hostsup("status", "--json")).stdout).hosts[0];
  assert.equal(stopped.last_exit.code, 0);
});
