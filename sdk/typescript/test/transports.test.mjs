import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { Ack, Cancel, Credit, Peer, Response } from "./peer.mjs";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const conformance = at("conformance/host.mjs");

for (const transport of ["fd", "stdio", "unix"]) {
  test(`acks of a request are out before its synchronous handler blocks (${transport})`, async () => {
    const p = await Peer.spawn([conformance], transport);
    const one = p.request("conformance/block", { ms: 2000, sync: true });
    const two = p.request("conformance/echo", 1);
    p.send(one, two, p.request("$/ping"));
    const acks = [await p.expect(Ack, one[1]), await p.expect(Ack, two[1]), await p.expect(Response, p.last)];
    const answer = await p.expect(Response, one[1]);
    for (const m of acks) assert.ok(answer.at - m.at > 1500, `${m.slice(0, 2)} came ${answer.at - m.at} ms before the answer`);
    assert.equal(await p.goodbye(), 0);
  });

  test(`printing does not disturb the wire (${transport})`, async () => {
    const p = await Peer.spawn([at("printing.mjs")], transport);
    assert.equal((await p.call("print", "hello")).result, "printed");
    assert.equal((await p.call("stdin")).result, transport === "stdio" ? "" : "untouched");
    assert.equal(await p.goodbye(), 0);
    const printed = transport === "stdio" ? p.stderr : p.stdout;
    assert.match(printed, /at import\nby console hello\nby write hello\n/);
  });

  test(`the variables of the connection are gone, and a host ends with its stream (${transport})`, async () => {
    const p = await Peer.spawn([at("printing.mjs")], transport);
    assert.deepEqual((await p.call("env")).result, []);
    await p.call("timer"); // would keep the process alive
    p.output.end();
    assert.equal(await p.exit, 1);
    assert.match(p.stderr, /the supervisor closed the connection without a goodbye/);
  });
}

test("acks wait until the kernel has them: handlers do not start before", async () => {
  const p = await Peer.spawn([conformance], "fd");
  const socket = p.output;
  const large = "x".repeat(4 << 20);
  const fill = p.request("conformance/echo", large);
  p.send(fill);
  await p.expect(Ack, fill[1]);
  socket.pause(); // the answer fills the kernel's buffer
  const block = p.request("conformance/block", { ms: 1000, sync: true });
  p.send(block);
  setTimeout(() => socket.resume(), 300);
  await p.expect(Response, fill[1]);
  const ack = await p.expect(Ack, block[1]);
  const answer = await p.expect(Response, block[1]);
  assert.ok(answer.at - ack.at > 700, `the ack came ${answer.at - ack.at} ms before the answer`);
  assert.equal(await p.goodbye(), 0);
});

test("SIGTERM ends a host gracefully", async () => {
  const p = await Peer.spawn([conformance], "fd");
  await p.call("$/ping");
  p.child.kill("SIGTERM");
  assert.equal(await p.exit, 0);
});

test("handlers of many requests give way to pings and answers", async () => {
  const p = await Peer.spawn([conformance], "fd");
  const blocks = Array.from({ length: 10 }, () => p.request("conformance/block", { ms: 60, sync: true }));
  p.send(...blocks);
  const first = await p.expect(Response, blocks[0][1]);
  p.send(p.request("$/ping"));
  const ping = await p.expect(Response, p.last);
  const last = await p.expect(Response, blocks[9][1]);
  assert.ok(first.at < last.at - 300 && ping.at < last.at - 100);
  assert.equal(await p.goodbye(), 0);
});

test("without a connection the host says who starts it", async () => {
  for (const [env, message] of [
    [{}, /this program is started by a supervisor/],
    [{ HOSTSUP_HOST_FD: "x" }, /HOSTSUP_HOST_FD is "x", want the number of a descriptor from 3/],
    [{ HOSTSUP_HOST_FD: "77" }, /descriptor 77, which is not open/],
    [{ HOSTSUP_HOST_FD: "2" }, /descriptor from 3/],
    [{ HOSTSUP_HOST_ADDR: "/nowhere", HOSTSUP_HOST_TOKEN: "ab" }, /is not 32 bytes in hex/],
    [{ HOSTSUP_HOST_ADDR: "/nowhere", HOSTSUP_HOST_TOKEN: "ab".repeat(32) }, /HOSTSUP_HOST_ADDR: .*ENOENT/],
  ]) {
    const child = spawn(process.execPath, [conformance], { env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (b) => (said += b));
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(code, 1);
    assert.match(said, message);
  }
});

test("100,000 calls with cancels and streams: one outcome each, memory flat", async () => {
  const p = await Peer.spawn(["--expose-gc", at("printing.mjs")], "fd");
  const methods = ["echo", "later", "count", "none", "fail"];
  let outcomes = 0;
  const round = async (n) => {
    for (let i = 0; i < n; ) {
      const batch = [];
      const left = new Set();
      for (let k = 0; k < 500; k++, i++) {
        const m = p.request(methods[i % methods.length], i);
        left.add(m[1]);
        batch.push(m);
        if (i % 5 === 2) batch.push([Credit, m[1], 2]);
        if (i % 7 === 0) batch.push([Cancel, m[1]]);
      }
      p.send(...batch);
      while (left.size > 0) {
        const { 1: id } = await p.expect(Response);
        assert.ok(left.delete(id), `a second answer to ${id}`);
        outcomes++;
      }
      p.messages.length = p.log.length = 0;
    }
    return (await p.call("memory")).result;
  };
  const before = await round(20_000);
  const after = await round(80_000);
  assert.equal(outcomes, 100_000);
  assert.ok(after < before + (16 << 20), `the heap grew from ${before} to ${after} bytes`);
  assert.equal(await p.goodbye(), 0);
});
