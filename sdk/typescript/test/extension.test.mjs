import assert from "node:assert/strict";
import test from "node:test";
import { HostError, UsageError } from "@hostsup/host";
import { newHost } from "./host.mjs";
import { Peer, all, Response } from "./peer.mjs";

const caps = [...all, "extensions"];

async function serve(t, host, capabilities = caps, more) {
  const p = await Peer.serve(host, capabilities, more);
  t.after(() => p.output.destroy());
  return p;
}

test("extensions are announced with their methods, activated and deactivated", async (t) => {
  const host = newHost();
  const order = [];
  const x = host.extension({
    id: "acme.fmt", version: "2", events: ["onLanguage:go"], dependsOn: ["acme.base"],
    activate: (a) => void order.push(`activate ${a.event} ${a.startup} ${JSON.stringify(a.config)}`),
    deactivate: async () => void order.push("deactivate"),
  });
  x.handle("fmt.run", (v) => `ran ${v}`);
  host.handle("own", () => 1);
  const p = await serve(t, host, caps, { init: { "Acme.Fmt": { tabs: true } }, extensions: ["acme.fmt"] });
  assert.deepEqual(p.hello.result.extensions, [{ id: "acme.fmt", version: "2", events: ["onLanguage:go"], depends_on: ["acme.base"], methods: ["fmt.run"] }]);
  assert.deepEqual((await host.ready).extensions, ["acme.fmt"]);
  const { result } = await p.call("extension/activate", { id: "acme.fmt", event: "onLanguage:go", startup: false });
  assert.equal(typeof result.took_ms, "number");
  assert.equal((await p.call("extension/activate", { id: "ACME.fmt", event: "x" })).error, null, "it is active already");
  assert.equal((await p.call("fmt.run", 1)).result, "ran 1");
  assert.equal((await p.call("extension/deactivate", { id: "acme.fmt", timeout_ms: 1000 })).error, null);
  assert.deepEqual(order, ['activate onLanguage:go false {"tabs":true}', "deactivate"]);
  assert.match((await p.call("extension/activate", { id: "no.such" })).error.message, /no such extension/);
});

test("a call to an extension that is not active asks the supervisor for it", async (t) => {
  const host = newHost();
  host.extension({ id: "a.b" }).handle("m", () => "done");
  const p = await serve(t, host);
  const m = p.request("m");
  p.send(m);
  const [, id, method, params] = await p.expect(0);
  assert.deepEqual([method, params], ["extension/need", { id: "a.b", event: "onCommand:m" }]);
  assert.equal((await p.call("extension/activate", { id: "a.b", event: "onCommand:m" })).error, null);
  p.send([Response, id, null, null]);
  assert.equal((await p.answer(m[1])).result, "done");
  const again = p.request("m");
  await p.call("extension/deactivate", { id: "a.b", timeout_ms: 1000 });
  p.send(again);
  p.send([Response, (await p.expect(0))[1], { name: "NotActive", message: "it is disabled" }, null]);
  const { error } = await p.answer(again[1]);
  assert.deepEqual([error.name, error.message], ["NotActive", "it is disabled"]);
});

test("the error of an activation is told, and it is not tried again by itself", async (t) => {
  let tries = 0;
  const host = newHost();
  host.extension({ id: "a.b", activate: async () => { tries++; throw new HostError("Broken", "no table"); } });
  const p = await serve(t, host);
  for (let i = 1; i < 3; i++) {
    const { error } = await p.call("extension/activate", { id: "a.b", event: "x" });
    assert.deepEqual([error.name, error.message, tries], ["Broken", "no table", i]);
    assert.match(error.stack, /extension\.test/);
  }
});

test("deactivation waits for handlers, then for what runs beside them", async (t) => {
  const order = [];
  const host = newHost();
  const x = host.extension({
    id: "a.b",
    activate: (a) => a.run((signal) => new Promise((resolve) => signal.addEventListener("abort", () => {
      order.push("beside");
      resolve();
    }))),
    deactivate: () => void order.push("deactivate"),
  });
  x.handle("wait", (_, ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => {
    order.push("handler");
    reject(ctx.signal.reason);
  })));
  const p = await serve(t, host);
  await p.call("extension/activate", { id: "a.b", event: "x" });
  const m = p.request("wait");
  p.send(m);
  const off = p.request("extension/deactivate", { id: "a.b", timeout_ms: 200 });
  p.send(off);
  assert.equal((await p.answer(m[1])).error.name, "NotActive");
  assert.equal((await p.answer(off[1])).error, null);
  assert.deepEqual(order, ["beside", "handler", "deactivate"]);
});

test("a deactivation that takes too long says what does not return", async (t) => {
  const host = newHost({ drain: 10 });
  host.extension({ id: "a.b", deactivate: () => new Promise(() => {}) });
  host.extension({ id: "a.c", activate: () => new Promise(() => {}) });
  const p = await serve(t, host);
  await p.call("extension/activate", { id: "a.b", event: "x" });
  assert.match((await p.call("extension/deactivate", { id: "a.b", timeout_ms: 20 })).error.message, /its deactivate does not return within 20 ms/);
  p.send(p.request("extension/activate", { id: "a.c", event: "x" }));
  assert.match((await p.call("extension/deactivate", { id: "a.c", timeout_ms: 20 })).error.message, /its activate does not return/);
});

test("an error beside the handlers is told to the supervisor", async (t) => {
  const host = newHost();
  host.extension({ id: "a.b", activate: (a) => a.run(() => { throw new RangeError("beside"); }) });
  const p = await serve(t, host);
  await p.call("extension/activate", { id: "a.b", event: "x" });
  const [, method, params] = await p.expect(2);
  assert.deepEqual([method, params.id, params.error.name, params.error.message], ["extension/uncaught", "a.b", "RangeError", "beside"]);
});

test("under a supervisor without the capability the host activates by itself, in order", async (t) => {
  const order = [];
  const host = newHost();
  const add = (id, more) => host.extension({ id, activate: () => void order.push(id), deactivate: () => void order.push(`-${id}`), ...more });
  add("a.late", { dependsOn: ["a.base"] }).handle("late", () => 1);
  add("a.base");
  add("a.start", { events: ["*"] });
  add("a.ying", { dependsOn: ["a.yang"] }).handle("ying", () => 1);
  add("a.yang", { dependsOn: ["a.ying"] });
  const p = await serve(t, host, all);
  assert.equal((await p.call("late")).result, 1);
  assert.deepEqual(order, ["a.start", "a.base", "a.late"]);
  const { error } = await p.call("ying");
  assert.equal(error.name, "NotActive");
  assert.match(error.cause.cause.message, /depends on itself/);
  await p.goodbye();
  assert.deepEqual(order.slice(3), ["-a.late", "-a.base", "-a.start"]);
});

test("manifests that are none are refused", () => {
  const host = newHost();
  host.extension({ id: "a.b" });
  for (const id of ["a", ".b", "a.", "A.B", "a b.c ", 7]) assert.throws(() => host.extension({ id }), UsageError, String(id));
  assert.throws(() => host.extension({ id: "a.c", dependsOn: ["x"] }), UsageError);
});
