import assert from "node:assert/strict";
import test from "node:test";
import { ConnectionError } from "@hostsup/host";
import { newHost } from "./host.mjs";
import { Ack, Peer } from "./peer.mjs";

test("a goodbye waits for handlers, runs hooks, and is answered then", async () => {
  const order = [];
  const host = newHost();
  let release;
  host.handle("slow", () => new Promise((resolve) => (release = () => resolve(order.push("handler")))));
  host.onShutdown(() => void order.push("first registered"));
  host.onShutdown(async () => void order.push("last registered"));
  const p = await Peer.serve(host);
  const slow = p.request("slow");
  p.send(slow);
  await p.expect(Ack, slow[1]);
  const bye = p.request("shutdown");
  p.send(bye);
  await p.expect(Ack, bye[1]);
  assert.equal(host.stopping.aborted, true);
  assert.equal((await p.call("slow")).error.name, "ShuttingDown");
  assert.equal((await p.call("$/ping")).error, null);
  release();
  assert.equal((await p.answer(slow[1])).result, 1);
  assert.equal((await p.answer(bye[1])).error, null);
  assert.deepEqual(order, ["handler", "last registered", "first registered"]);
  p.output.end();
  await p.served;
});

test("handlers that outlast the drain see their signal abort; hooks that fail are logged", async () => {
  const failures = [];
  const host = newHost({ drain: 30, log: (m) => failures.push(m) });
  host.handle("wait", (_, ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))));
  host.onShutdown(() => { throw new Error("no"); });
  const p = await Peer.serve(host);
  const m = p.request("wait");
  p.send(m);
  assert.equal((await p.goodbye()), undefined);
  assert.equal((await p.answer(m[1])).error.name, "ShuttingDown");
  assert.deepEqual(failures, ["a function of onShutdown failed"]);
});

test("handlers that never return are named when the host ends", async () => {
  const host = newHost({ drain: 10 });
  host.handle("stuck", () => new Promise(() => {}));
  const p = await Peer.serve(host);
  p.send(p.request("stuck"));
  p.send(p.request("shutdown"));
  await p.answer(p.last);
  p.output.end();
  await assert.rejects(p.served, { name: "Stuck", message: "handlers did not return: 1 of them" });
});

test("the end of the stream without a goodbye aborts everything and is PeerGone", async () => {
  const host = newHost({ drain: 100 });
  let reason, hook = false;
  host.handle("wait", (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve(({ reason } = ctx.signal)))));
  host.onShutdown(() => void (hook = true));
  const p = await Peer.serve(host);
  p.send(p.request("wait"));
  await p.expect(Ack);
  const call = host.call("never");
  await p.expect(0);
  p.output.end();
  await assert.rejects(call, (e) => e instanceof ConnectionError && e.reason === "PeerGone");
  await assert.rejects(p.served, { reason: "PeerGone" });
  assert.equal(reason.reason, "PeerGone");
  assert.ok(hook);
  await assert.rejects(host.call("late"), { reason: "PeerGone" });
  await assert.rejects(host.notify("late"), { reason: "PeerGone" });
  await assert.rejects(host.stream("late").next(), { reason: "PeerGone" });
});

test("calls after a goodbye say that the host ends", async () => {
  const host = newHost();
  const p = await Peer.serve(host);
  await p.goodbye();
  await assert.rejects(host.call("late"), (e) => e instanceof ConnectionError && /ended|shutting down/.test(e.message));
  await assert.rejects(host.notify("late"), ConnectionError);
  await assert.rejects(host.stream("late").next(), ConnectionError);
});

test("stopServing ends the host from its own side", async () => {
  const host = newHost();
  host.handle("echo", (x) => x);
  const p = await Peer.serve(host);
  const m = p.request("echo", 1);
  p.send(m);
  assert.equal((await p.answer(m[1])).result, 1);
  await host.stopServing();
  await p.served;
  await p.ended();
});

test("hooks can still call the supervisor", async () => {
  const host = newHost();
  let said;
  host.onShutdown(async () => (said = await host.call("last")));
  const p = await Peer.serve(host);
  const bye = p.request("shutdown");
  p.send(bye);
  p.send([1, (await p.expect(0))[1], null, "yes"]);
  await p.answer(bye[1]);
  p.output.end();
  await p.served;
  assert.equal(said, "yes");
});
