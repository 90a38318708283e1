import assert from "node:assert/strict";
import test from "node:test";
import { count, greet } from "./handlers.js";

test("greet", () => assert.equal(greet("Ada"), "hello Ada"));

test("count", async () => {
  const items: number[] = [];
  for await (const i of count(3)) items.push(i);
  assert.deepEqual(items, [0, 1, 2]);
});
