import assert from "node:assert/strict";
import test from "node:test";
import { HostError } from "@hostsup/host";
import { withHost } from "./host.mjs";

class NotReady extends Error {}

const thrown = {
  string: "only text",
  nothing: undefined,
  number: 7,
  object: { a: 1 },
  error: new TypeError("typed", { cause: new RangeError("below", { cause: "text" }) }),
  own: new HostError("Mine", "exactly", { code: -7, data: { k: [1] }, cause: new Error("why") }),
  system: Object.assign(new Error("no file"), { code: "ENOENT", errno: -2 }),
  subclass: new NotReady("soon"),
  many: new AggregateError([new Error("first"), new Error("second")], "several"),
};

for (const how of ["sync", "async"]) {
  test(`what a handler throws is answered (${how})`, async (t) => {
    const { p } = await withHost(t, (host) => {
      host.handle("throw", how === "sync" ? (key) => { throw thrown[key]; } : async (key) => { throw thrown[key]; });
      host.handle("alive", () => true);
    });
    const error = async (key) => (await p.call("throw", key)).error;
    assert.deepEqual(await error("string"), { name: "Error", message: "only text" });
    assert.deepEqual(await error("nothing"), { name: "Error", message: "undefined was thrown" });
    assert.deepEqual(await error("number"), { name: "Error", message: "7" });
    assert.deepEqual(await error("object"), { name: "Error", message: '{"a":1}' });
    const typed = await error("error");
    assert.equal(typed.name, "TypeError");
    assert.match(typed.stack, /errors\.test\.mjs/);
    assert.deepEqual([typed.cause.name, typed.cause.message, typed.cause.cause.message], ["RangeError", "below", "text"]);
    const own = await error("own");
    assert.deepEqual([own.name, own.message, own.code, own.data, own.cause.message], ["Mine", "exactly", -7, { k: [1] }, "why"]);
    assert.deepEqual((await error("system")).data, { code: "ENOENT" });
    assert.equal((await error("subclass")).name, "NotReady");
    assert.equal((await error("many")).cause.message, "first");
    assert.equal((await p.call("alive")).result, true);
  });
}

test("errors that cannot be sent are cut, and those that throw themselves are answered", async (t) => {
  const loop = new Error("round");
  loop.cause = loop;
  const { p } = await withHost(t, (host) => {
    host.handle("data", () => { throw new HostError("D", "with a function", { code: 3, data: () => 1 }); });
    host.handle("getter", () => { throw Object.defineProperty(new Error("x"), "message", { get() { throw new Error("from the getter"); } }); });
    host.handle("loop", () => { throw loop; });
    host.handle("long", () => { throw new Error("x".repeat(1e6)); });
  });
  assert.deepEqual((await p.call("data")).error, { name: "D", message: "with a function", code: 3 });
  assert.match((await p.call("getter")).error.message, /cannot be read: from the getter/);
  let depth = 0;
  for (let e = (await p.call("loop")).error; e; e = e.cause) depth++;
  assert.equal(depth, 16);
  assert.equal((await p.call("long")).error.message.length, 16384);
});

test("results that cannot be sent are errors that say why, and the host goes on", async (t) => {
  const round = {};
  round.self = round;
  let deep = 1;
  for (let i = 0; i < 200; i++) deep = [deep];
  const results = {
    function: () => 1, symbol: Symbol("s"), map: new Map([[1, 2]]), set: new Set([1]), nested: { a: [new Map()] }, error: new Error("returned"),
    regexp: /x/, round, deep, wide: 2n ** 65n, date: new Date(NaN), promise: { p: Promise.resolve(1) },
  };
  const { p } = await withHost(t, (host) => {
    host.handle("sync", (key) => results[key]);
    host.handle("async", async (key) => results[key]);
  });
  for (const key of Object.keys(results)) {
    for (const method of ["sync", "async"]) {
      const { error } = await p.call(method, key);
      assert.equal(error?.name, "InvalidResult", key);
      assert.match(error.message, /^the result of (a?sync): ./, key);
    }
  }
  assert.match((await p.call("sync", "map")).error.message, /a value of type Map cannot be sent/);
  assert.match((await p.call("sync", "round")).error.message, /contains itself/);
  assert.equal((await p.call("$/ping")).error, null);
});

test("a result over the limit is TooLarge", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("large", (n) => "x".repeat(n)), { limits: { frame: 10000 } });
  assert.equal((await p.call("large", 10001)).error.name, "TooLarge");
  assert.equal((await p.call("large", 9997)).error.name, "TooLarge", "with what is around it");
  assert.equal((await p.call("large", 9000)).result.length, 9000);
});

test("an object whose properties throw, and a thenable that does", async (t) => {
  const { p } = await withHost(t, (host) => {
    host.handle("getter", () => ({ get x() { throw new Error("from the getter"); } }));
    host.handle("then", () => ({ get then() { throw new Error("from then"); } }));
  });
  assert.match((await p.call("getter")).error.message, /from the getter/);
  assert.match((await p.call("then")).error.message, /from then/);
});

test("undefined fields are left out, and class instances are their fields", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("x", () => ({ a: undefined, b: new (class Point { x = 1; })(), c: [undefined] })));
  assert.deepEqual((await p.call("x")).result, { b: { x: 1 }, c: [null] });
});

test("params that JavaScript cannot hold are InvalidParams", async (t) => {
  const { p } = await withHost(t, (host) => host.handle("x", (v) => v));
  const { frame } = await import("./peer.mjs");
  // A map whose key is true.
  p.output.write(frame(Buffer.from([0x94, 0x00, 0x63, 0xa1, 0x78, 0x81, 0xc3, 0x01])));
  assert.equal((await p.answer(0x63)).error.name, "InvalidParams");
  // A map with the key __proto__.
  p.output.write(frame(Buffer.from([0x94, 0x00, 0x64, 0xa1, 0x78, 0x81, 0xa9, ...Buffer.from("__proto__"), 0x80])));
  assert.equal((await p.answer(0x64)).error.name, "InvalidParams");
});
