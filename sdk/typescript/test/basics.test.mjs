import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { Host, HostError, UsageError } from "@hostsup/host";
import { newHost, withHost } from "./host.mjs";
import { Ack, Cancel, Peer, Response } from "./peer.mjs";

test("the handshake names the host and its capabilities", async (t) => {
  const { host, p } = await withHost(t, () => {});
  assert.deepEqual(p.hello.result, { protocol: 1, name: "t", version: "1.2", capabilities: ["ack", "cancel", "stream", "trace", "ping"] });
  const hello = await host.ready;
  assert.equal(hello.supervisor.name, "test");
  assert.deepEqual(hello.host, { name: "h", life: 1 });
  await p.goodbye();
});

test("another version of the protocol is refused and ends serve", async () => {
  const host = newHost();
  const p = await Peer.serve(host, [], { protocol: 2 });
  assert.equal(p.hello.error.name, "VersionNotSupported");
  await assert.rejects(p.served, { name: "VersionNotSupported" });
});

test("onInitialize sees init, may take its time, and its error is the answer", async () => {
  const host = newHost();
  host.onInitialize(async (hello) => {
    await new Promise(setImmediate);
    if (hello.init?.bad) throw new HostError("Refused", "not with this");
  });
  const p = await Peer.serve(host, ["ack"], { init: { bad: true } });
  assert.equal(p.log[0][0], Ack, "initialize is acknowledged");
  assert.equal(p.hello.error.name, "Refused");
  await assert.rejects(p.served, { name: "Refused" });
  await assert.rejects(host.call("x"), /ended|not with this/);
});

test("a request is answered by its handler, sync or async", async (t) => {
  const { p } = await withHost(t, (host) => {
    host.handle("sync", (x) => x + 1);
    host.handle("async", async (x) => x + 2);
    host.handle("nothing", () => {});
  });
  assert.equal((await p.call("sync", 1)).result, 2);
  assert.equal((await p.call("async", 1)).result, 3);
  assert.deepEqual(await p.call("nothing"), { error: null, result: null });
});

test("an unknown method, ping and unknown notifications", async (t) => {
  const { p } = await withHost(t, () => {});
  p.send([2, "nobody/knows", 1]);
  assert.equal((await p.call("none")).error.name, "MethodNotFound");
  assert.deepEqual(await p.call("$/ping"), { error: null, result: null });
});

test("values come back as they were", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("echo", (x) => x));
  p.bigs = true;
  const values = [null, true, -1, 1.5, "", "ü€😀", [], {}, [[[1]]], { a: { b: [1, "x"] } }, 2n ** 64n - 1n, -(2n ** 63n), [2 ** 40, 2n ** 60n], { t: new Date(1234567890123) }];
  for (const v of values) {
    const { result } = await p.call("echo", v);
    assert.deepEqual(normal(result), normal(v));
  }
  assert.deepEqual([...(await p.call("echo", new Uint8Array([1, 2, 3]))).result], [1, 2, 3]);
});

function normal(v) {
  return JSON.stringify(v, (_, x) => (typeof x === "bigint" ? `${x}` : typeof x === "number" && x > 2 ** 32 ? `${x}` : x));
}

test("integers of 64 bits that fit are numbers, others bigints; large ones leave as integers", async (t) => {
  const kinds = [];
  const { p } = await withHost(t, (host) => host.handle("kinds", (x) => {
    kinds.push(...x.map((v) => typeof v));
    return x;
  }));
  p.bigs = true;
  const { result } = await p.call("kinds", [2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n) + 1n, -(2n ** 53n), -1n, 2n ** 40n]);
  assert.deepEqual(kinds, ["number", "bigint", "number", "bigint", "number", "number"]);
  // With a bigint beside it, the library would make a float of 2 ** 40.
  const echoed = (await p.call("kinds", [2n ** 60n, 2n ** 40n])).result;
  assert.deepEqual(result.map((v) => typeof v).slice(0, 1), ["bigint"]);
  assert.deepEqual(echoed, [2n ** 60n, 2n ** 40n]);
});

test("bytes that a handler keeps are not written over", async (t) => {
  const kept = [];
  const { p } = await withHost(t, (host) => host.handle("keep", (b) => void kept.push(b)));
  for (let i = 0; i < 20; i++) await p.call("keep", new Uint8Array(1000).fill(i));
  kept.forEach((b, i) => assert.ok(b.every((x) => x === i), `buffer ${i}`));
});

test("large messages in many parts, both ways", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("echo", (x) => x));
  const text = "x".repeat(3_000_000);
  assert.equal((await p.call("echo", text)).result, text);
});

test("frames in every split", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("echo", (x) => x));
  const { frame } = await import("./peer.mjs");
  const one = frame([0, 1000, "echo", "hello"]);
  for (let cut = 1; cut < one.length; cut++) {
    const two = frame([0, 1000 + cut, "echo", cut]);
    const bytes = Buffer.concat([one, two]);
    bytes.writeUInt16BE(2000 + cut, bytes.indexOf(Buffer.from([0xcd, 0x03, 0xe8])) + 1);
    p.output.write(bytes.subarray(0, cut));
    await new Promise(setImmediate);
    p.output.write(bytes.subarray(cut));
    assert.equal((await p.answer(2000 + cut)).result, "hello");
    assert.equal((await p.answer(1000 + cut)).result, cut);
  }
});

test("answers of one turn leave in one write, behind one of their acks", async (t) => {
  const { p } = await withHost(t, (host) => {
    host.handle("echo", (x) => x);
    host.handle("later", async (x) => x);
    host.handle("inline", (x) => x, { inline: true });
  });
  const counted = count(t);
  p.send(...Array.from({ length: 50 }, (_, i) => p.request(i % 2 ? "echo" : "later", i)));
  for (let i = 0; i < 50; i++) await p.expect(Response, p.last - 49 + i);
  assert.equal(counted.n, 2);
  counted.n = 0;
  p.send(...Array.from({ length: 50 }, (_, i) => p.request("inline", i)));
  for (let i = 0; i < 50; i++) await p.expect(Response, p.last - 49 + i);
  assert.equal(counted.n, 1, "inline handlers need no ack");
});

/** Counts the writes of sockets that connected: those of the host. */
function count(t) {
  const counted = { n: 0 };
  const { write } = net.Socket.prototype;
  net.Socket.prototype.write = function (b, ...rest) {
    if (this.pending === false && !this.server && b.length > 0) counted.n++;
    return write.call(this, b, ...rest);
  };
  t.after(() => (net.Socket.prototype.write = write));
  // The peer's own socket has been accepted by a server.
  return counted;
}

test("requests beyond the limit are acknowledged and wait, and can be cancelled", async (t) => {
  const started = [];
  const release = [];
  const { p } = await withHost(t, (host) => host.handle("block", (name) => {
    started.push(name);
    return new Promise((resolve) => release.push(() => resolve(name)));
  }), { maxConcurrent: 2 });
  const batch = [0, 1, 2, 3, 4].map((i) => p.request("block", i));
  p.send(...batch);
  for (const m of batch) await p.expect(Ack, m[1]);
  assert.deepEqual(started, [0, 1]);
  p.send([Cancel, batch[3][1]], [Cancel, batch[3][1]]);
  assert.equal((await p.answer(batch[3][1])).error.name, "Cancelled");
  assert.deepEqual(started, [0, 1]);
  while (release.length) {
    release.shift()();
    await new Promise(setImmediate);
  }
  for (const i of [0, 1, 2, 4]) assert.equal((await p.answer(batch[i][1])).result, i);
  assert.deepEqual(started, [0, 1, 2, 4]);
});

test("cancel aborts the signal and the answer is Cancelled, whatever the handler returns", async (t) => {
  let reason;
  const { p } = await withHost(t, (host) => host.handle("wait", (_, ctx) => new Promise((resolve) => {
    ctx.signal.addEventListener("abort", () => {
      ({ reason } = ctx.signal);
      resolve("too late");
    });
  })));
  const m = p.request("wait");
  p.send(m);
  await p.expect(Ack, m[1]);
  p.send([Cancel, m[1]]);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
  assert.equal(reason.name, "Cancelled");
  p.send([Cancel, m[1]]); // finished: ignored
  assert.equal((await p.call("$/ping")).error, null);
});

test("a cancel in the same read reaches a request before its handler", async (t) => {
  let ran = false;
  const { p } = await withHost(t, (host) => host.handle("x", () => void (ran = true)));
  const m = p.request("x");
  p.send(m, [Cancel, m[1]]);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
  assert.equal(ran, false);
});

test("without capabilities there are no acks", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("later", () => new Promise((resolve) => setTimeout(resolve, 5, 1))), {}, []);
  const m = p.request("later");
  p.send(m);
  await p.expect(Response, m[1]);
  assert.equal(p.messages.length, 0);
});

test("notifications are handled in order, one after the other", async (t) => {
  const seen = [];
  const failures = [];
  const { p } = await withHost(t, (host) => {
    host.onNotify("n", async (x) => {
      seen.push(`begin ${x}`);
      await new Promise((resolve) => setTimeout(resolve, 3 - x));
      seen.push(`end ${x}`);
      if (x === 1) throw new Error("logged");
    });
    host.onOtherNotify((x, ctx) => void seen.push(`${ctx.method} ${x}`));
    host.handle("seen", () => seen);
  }, { log: (message, e) => failures.push(`${message}: ${e.message}`) });
  p.send([2, "n", 0], [2, "n", 1], [2, "n", 2], [2, "other", 3]);
  while (seen.length < 7) await p.call("seen");
  assert.deepEqual(seen, ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2", "other 3"]);
  assert.deepEqual(failures, ["the handler of the notification n failed: logged"]);
});

test("registering wrongly throws and changes nothing", async (t) => {
  const host = newHost();
  host.handle("a", () => 1);
  assert.throws(() => host.handle("a", () => 2), (e) => e instanceof UsageError && /a has a handler already/.test(e.message));
  for (const bad of ["", "initialize", "shutdown", "$/ping", "extension/activate", "x".repeat(1025), 7]) {
    assert.throws(() => host.handle(bad, () => 1), UsageError);
  }
  assert.throws(() => host.handle("b"), /is no function/);
  assert.throws(() => new Host({}), UsageError);
  host.handle("a", () => 3, { replace: true });
  const p = await Peer.serve(host);
  t.after(() => p.output.destroy());
  assert.equal((await p.call("a")).result, 3);
  await assert.rejects(host.serve(), UsageError);
});
