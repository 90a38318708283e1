import assert from "node:assert/strict";
import test from "node:test";
import { withHost } from "./host.mjs";
import { Ack, Cancel, Credit, Item, Response } from "./peer.mjs";

async function* count(n) {
  for (let i = 0; i < n; i++) yield i;
}

test("a generator sends items as credit allows, and its end is the answer", async (t) => {
  const { p } = await withHost(t, (host) => {
    host.handle("count", count);
    host.handle("plain", function* (n) { for (let i = 0; i < n; i++) yield i; });
    host.handle("iterable", async (n) => ({ [Symbol.asyncIterator]: () => count(n) }));
  });
  for (const method of ["count", "plain", "iterable"]) {
    const m = p.request(method, 5);
    p.send(m, [Credit, m[1], 2]);
    for (let i = 0; i < 2; i++) assert.deepEqual([...(await p.expect(Item, m[1]))], [Item, m[1], i, i]);
    assert.equal((await p.call("$/ping")).error, null);
    assert.ok(!p.messages.some((x) => x[0] === Item), "no item without credit");
    p.send([Credit, m[1], 1], [Credit, m[1], 10]);
    for (let i = 2; i < 5; i++) assert.deepEqual([...(await p.expect(Item, m[1]))], [Item, m[1], i, i]);
    assert.deepEqual([...(await p.expect(Response, m[1]))], [Response, m[1], null, null]);
  }
});

test("a caller without credit has the list", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("count", count));
  const { result } = await p.call("count", 500);
  assert.equal(result.length, 500);
  assert.equal(result[499], 499);
  assert.deepEqual((await p.call("count", 0)).result, []);
});

test("without the capability the list comes at once", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("count", count), {}, []);
  assert.deepEqual((await p.call("count", 3)).result, [0, 1, 2]);
});

test("items that were kept before the first credit are sent first", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("count", count));
  const m = p.request("count", 100);
  p.send(m);
  await p.expect(Ack, m[1]);
  p.send([Credit, m[1], 1000]);
  for (let i = 0; i < 100; i++) assert.equal((await p.expect(Item, m[1]))[2], i);
  assert.equal((await p.answer(m[1])).error, null);
});

test("items that were kept are sent when credit comes while the generator waits", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("wait", async function* (n, ctx) {
    for (let i = 0; i < n; i++) yield i;
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  }));
  const m = p.request("wait", 10);
  p.send(m);
  await p.expect(Ack, m[1]);
  assert.equal((await p.call("$/ping")).error, null); // the generator waits by now
  p.send([Credit, m[1], 2]);
  for (let i = 0; i < 2; i++) assert.equal((await p.expect(Item, m[1]))[2], i);
  assert.equal((await p.call("$/ping")).error, null);
  assert.ok(!p.messages.some((x) => x[0] === Item), "no item without credit");
  p.send([Credit, m[1], 5]);
  for (let i = 2; i < 7; i++) assert.equal((await p.expect(Item, m[1]))[2], i);
  p.send([Cancel, m[1]]);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
});

test("cancel runs the generator's finally and answers Cancelled", async (t) => {
  let ended = 0;
  const { p } = await withHost(t, (host) => host.handle("endless", async function* (credit, ctx) {
    try {
      for (let i = 0; ; i++) yield i;
    } finally {
      ended++;
      assert.equal(ctx.signal.aborted, true);
    }
  }));
  const m = p.request("endless");
  p.send(m, [Credit, m[1], 3]);
  for (let i = 0; i < 3; i++) await p.expect(Item, m[1]);
  p.send([Cancel, m[1]]);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
  assert.equal(ended, 1);
});

test("an endless generator that never waits leaves the loop turning", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("endless", async function* () {
    for (let i = 0; ; i++) yield i;
  }), { outgoing: 1 << 30 });
  const m = p.request("endless");
  p.send(m, [Credit, m[1], 2 ** 32 - 1]);
  await p.expect(Item, m[1]);
  assert.equal((await p.call("$/ping")).error, null);
  p.send([Cancel, m[1]]);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
});

test("an error in a generator, and an item that cannot be sent, end the stream with it", async (t) => {
  const { p } = await withHost(t, (host) => {
    host.handle("fails", async function* () {
      yield 1;
      throw new RangeError("in the middle");
    });
    host.handle("bad", async function* () { yield new Map(); });
  });
  const m = p.request("fails");
  p.send(m, [Credit, m[1], 10]);
  assert.equal((await p.expect(Item, m[1]))[3], 1);
  assert.equal((await p.answer(m[1])).error.message, "in the middle");
  const b = p.request("bad");
  p.send(b, [Credit, b[1], 10]);
  assert.match((await p.answer(b[1])).error.message, /type Map cannot be sent/);
  assert.equal((await p.call("$/ping")).error, null);
});

test("a list that is too large for a caller without credit is refused", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("large", async function* () {
    for (let i = 0; i < 100; i++) yield "x".repeat(1000);
  }), { limits: { frame: 20000 } });
  assert.equal((await p.call("large")).error.name, "TooLarge");
});

test("credit for a finished request is ignored", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("echo", (x) => x));
  const m = p.request("echo", 1);
  p.send(m, [Credit, m[1], 5]);
  assert.equal((await p.answer(m[1])).result, 1);
  p.send([Credit, m[1], 5], [Cancel, m[1]]);
  assert.equal((await p.call("$/ping")).error, null);
});
