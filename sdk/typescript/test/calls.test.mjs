import assert from "node:assert/strict";
import test from "node:test";
import { CancelledError, HostError } from "@hostsup/host";
import { withHost } from "./host.mjs";
import { Ack, Cancel, Credit, Item, Notification, Request, Response } from "./peer.mjs";

const none = () => {};

test("a call has its result, or the supervisor's error with all its parts", async (t) => {
  const { host, p } = await withHost(t, none);
  const ok = host.call("ask", { a: 1 });
  const [, id, method, params] = await p.expect(Request);
  assert.deepEqual([id, method, params], [1, "ask", { a: 1 }]);
  p.send([Ack, id], [Response, id, null, [1, 2]]);
  assert.deepEqual(await ok, [1, 2]);
  const bad = host.call("ask");
  p.send([Response, (await p.expect(Request))[1], { name: "N", message: "m", code: 5, stack: "there", data: [1], cause: { name: "C", message: "c" } }, null]);
  const e = await bad.catch((e) => e);
  assert.ok(e instanceof HostError);
  assert.deepEqual([e.name, e.message, e.code, e.remoteStack, e.data, e.cause.name], ["N", "m", 5, "there", [1], "C"]);
});

test("an error that passes through a host keeps its parts", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("pass", (_, ctx) => ctx.call("ask")));
  const m = p.request("pass");
  p.send(m);
  const error = { name: "N", message: "m", code: 5, stack: "there", data: [1], cause: { name: "C", message: "c", stack: "below" } };
  p.send([Response, (await p.expect(Request))[1], error, null]);
  assert.deepEqual((await p.answer(m[1])).error, error);
});

for (const [what, sent, message] of [["a string", "oops", "oops"], ["a pair", [5, "oops"], "oops"], ["a list", [1, 2, 3], "[1,2,3]"], ["true", true, "true"]]) {
  test(`an error that is ${what} is read`, async (t) => {
    const { host, p } = await withHost(t, none);
    const call = host.call("ask");
    p.send([Response, (await p.expect(Request))[1], sent, null]);
    await assert.rejects(call, { message });
  });
}

test("a call that is aborted rejects with the reason and tells the supervisor", async (t) => {
  const { host, p } = await withHost(t, none);
  const stop = new AbortController();
  const call = host.call("ask", null, { signal: stop.signal });
  const [, id] = await p.expect(Request);
  stop.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  assert.equal((await p.expect(Cancel))[1], id);
  p.send([Response, id, null, 1]); // dropped
  assert.equal((await p.call("$/ping")).error, null);
  await assert.rejects(host.call("ask", null, { signal: stop.signal }), /enough/);
  assert.equal((await p.call("$/ping")).error, null);
  assert.ok(!p.messages.some((m) => m[0] === Request), "it was not sent");
});

test("the call of a handler ends with its request", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("pass", (_, ctx) => ctx.call("ask")));
  const m = p.request("pass");
  p.send(m);
  const [, id] = await p.expect(Request);
  p.send([Cancel, m[1]]);
  assert.equal((await p.expect(Cancel))[1], id);
  assert.equal((await p.answer(m[1])).error.name, "Cancelled");
});

test("params that cannot be sent reject, and the next call has the next id", async (t) => {
  const { host, p } = await withHost(t, none);
  await assert.rejects(host.call("ask", () => 1), TypeError);
  await assert.rejects(host.call("", 1), { name: "InvalidParams" });
  await assert.rejects(host.call("x".repeat(1025), 1), { name: "InvalidParams" });
  await assert.rejects(host.notify("n", new Map()), TypeError);
  const call = host.call("ä".repeat(512));
  const [, id, method] = await p.expect(Request);
  assert.deepEqual([id, method.length], [1, 512]);
  p.send([Response, id, null, 1]);
  assert.equal(await call, 1);
});

test("notifications, progress and traces", async (t) => {
  const trace = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  const { host, p } = await withHost(t, (host) => host.handle("x", async (_, ctx) => {
    await ctx.progress(0.5);
    await ctx.notify("told", 1);
    return ctx.trace;
  }));
  await host.notify("n", { a: 1 });
  assert.deepEqual([...(await p.expect(Notification))], [2, "n", { a: 1 }]);
  const m = p.request("x", null, trace);
  p.send(m);
  assert.deepEqual([...(await p.expect(Notification))], [2, "$/progress", { id: m[1], method: "x", value: 0.5 }, trace]);
  assert.deepEqual([...(await p.expect(Notification))], [2, "told", 1, trace]);
  assert.deepEqual((await p.answer(m[1])).result, trace);
});

test("a stream of the supervisor gives its items, with credit as they are taken", async (t) => {
  const { host, p } = await withHost(t, none);
  const got = [];
  const all = (async () => {
    for await (const x of host.stream("list", 3)) got.push(x);
  })();
  const [, id] = await p.expect(Request);
  assert.deepEqual([...(await p.expect(Credit))], [Credit, id, 64]);
  for (let i = 0; i < 64; i++) p.send([Item, id, i, i]);
  assert.deepEqual([...(await p.expect(Credit))], [Credit, id, 32]);
  assert.deepEqual([...(await p.expect(Credit))], [Credit, id, 32]);
  p.send([Item, id, 64, "last"], [Response, id, null, null]);
  await all;
  assert.equal(got.length, 65);
  assert.equal(got[64], "last");
});

test("items wait for a loop that is slow, and no credit is given meanwhile", async (t) => {
  const { host, p } = await withHost(t, none);
  const items = host.stream("list");
  const first = items.next();
  const [, id] = await p.expect(Request);
  await p.expect(Credit);
  for (let i = 0; i < 64; i++) p.send([Item, id, i, i]);
  assert.deepEqual(await first, { done: false, value: 0 });
  assert.equal((await p.call("$/ping")).error, null);
  assert.ok(!p.messages.some((m) => m[0] === Credit));
  p.send([Response, id, { name: "Late", message: "after the items" }, null]);
  for (let i = 1; i < 64; i++) assert.equal((await items.next()).value, i);
  await assert.rejects(items.next(), { name: "Late" });
  assert.equal((await items.next()).done, true);
});

test("leaving the loop cancels the request", async (t) => {
  const { host, p } = await withHost(t, none);
  const left = (async () => {
    for await (const x of host.stream("list")) if (x === 1) return x;
  })();
  const [, id] = await p.expect(Request);
  p.send([Item, id, 0, 0], [Item, id, 1, 1], [Item, id, 2, 2]);
  assert.equal(await left, 1);
  assert.equal((await p.expect(Cancel))[1], id);
  p.send([Item, id, 3, 3], [Response, id, { name: "Cancelled", message: "" }, null]);
  assert.equal((await p.call("$/ping")).error, null);
});

test("a result that comes as one value is the only item", async (t) => {
  const { host, p } = await withHost(t, none, {}, ["ack"]);
  for (const [result, items] of [["one", ["one"]], [null, []]]) {
    const got = [];
    const all = (async () => {
      for await (const x of host.stream("one")) got.push(x);
    })();
    p.send([Response, (await p.expect(Request))[1], null, result]);
    await all;
    assert.deepEqual(got, items);
  }
  assert.ok(!p.log.some((m) => m[0] === Credit), "without the capability there is no credit");
});

test("a call before the handshake waits for it; its reason is not an error of its own", async (t) => {
  const { host, p } = await withHost(t, (host) => void (host.early = host.call("early")));
  p.send([Response, (await p.expect(Request))[1], null, "later"]);
  assert.equal(await host.early, "later");
  assert.equal(new CancelledError().name, "Cancelled");
});
