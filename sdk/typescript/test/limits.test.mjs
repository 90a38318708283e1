import assert from "node:assert/strict";
import test from "node:test";
import { ProtocolError } from "@hostsup/host";
import { Frames } from "../dist/esm/frames.js";
import { defaultLimits } from "../dist/esm/scan.js";
import { newHost } from "./host.mjs";
import { Ack, Cancel, Credit, Item, Peer, Response, all, frame } from "./peer.mjs";

let nested = 1;
for (let i = 0; i < 127; i++) nested = [nested];
const raw = (...bytes) => frame(Buffer.from(bytes));

/** What a supervisor may not send. */
const broken = {
  "a length of 0": [Buffer.alloc(4), /empty frame/],
  "a length over the limit": [Buffer.from([0x03, 0x20, 0, 1]), /frame over the limit: 52428801 bytes/],
  "no array": [raw(0xc1), /an array is expected/],
  "an empty array": [raw(0x90), /kind -1/],
  "an unknown kind": [raw(0x92, 7, 1), /kind 7/],
  "too few elements": [raw(0x93, 0, 2, 0xa1, 0x78), /request of 3 elements/],
  "trailing bytes": [raw(0x93, 2, 0xa1, 0x78, 0xc0, 0xc0), /bytes after the value/],
  "id 0": [raw(0x94, 0, 0, 0xa1, 0x78, 0xc0), /id 0/],
  "a negative id": [raw(0x94, 0, 0xd0, 0xff, 0xa1, 0x78, 0xc0), /id is no integer/],
  "an empty method": [raw(0x93, 2, 0xa0, 0xc0), /method is empty/],
  "a method that is not UTF-8": [raw(0x93, 2, 0xa1, 0xff, 0xc0), /not UTF-8/],
  "a method of 1025 bytes": [frame([2, "x".repeat(1025), null]), /method of 1025 bytes, limit 1024/],
  "nesting of 129": [frame([2, "n", [nested]]), /nested too deep/],
  "an array that claims 4 billion": [raw(0x93, 2, 0xa1, 0x78, 0xdd, 0xff, 0xff, 0xff, 0xff), /too many elements: 4294967295/],
  "a map that claims more than there is": [raw(0x93, 2, 0xa1, 0x78, 0xdf, 0, 0x10, 0, 0), /too many elements/],
  "a bin that claims 4 GiB": [raw(0x93, 2, 0xa1, 0x78, 0xc6, 0xff, 0xff, 0xff, 0xff, 0), /a value of 4294967295 bytes, 1 left/],
  "a str that claims 4 GiB": [raw(0x93, 2, 0xa1, 0x78, 0xdb, 0xff, 0xff, 0xff, 0xff), /a value of 4294967295 bytes/],
  "a value that ends within": [raw(0x93, 2, 0xa1, 0x78, 0xcf, 0, 0), /truncated/],
  "an invalid byte": [raw(0x93, 2, 0xa1, 0x78, 0xc1), /invalid type byte/],
  "a trace that is no map": [frame([2, "n", null, 7]), /trace is no map/],
  "an ack of no request": [frame([Ack, 1]), /id never given: ack for request 1/],
  "a cancel of no request": [frame([Cancel, 99]), /id never given/],
  "credit for no request": [frame([Credit, 99, 1]), /id never given/],
  "an item for no request": [frame([Item, 1, 0, null]), /id never given/],
  "an answer to no request": [frame([Response, 1, null, null]), /not open/],
  "an answer with an error and a result": [frame([Response, 1, "x", 1]), /an error and a result/],
  "a second initialize": [frame([0, 500, "initialize", { protocol: 1 }]), undefined],
};

for (const [what, [bytes, message]] of Object.entries(broken)) {
  test(`${what} ${message ? "ends the connection" : "is an unknown method"}`, async (t) => {
    const host = newHost();
    const p = await Peer.serve(host);
    t.after(() => p.output.destroy());
    p.output.write(bytes);
    if (message === undefined) {
      assert.equal((await p.answer(500)).error.name, "MethodNotFound");
      return;
    }
    await assert.rejects(p.served, (e) => e instanceof ProtocolError && message.test(e.message));
    await p.ended();
  });
}

test("the limits themselves are accepted", async (t) => {
  const host = newHost();
  host.handle("echo", (x) => x);
  host.handle("x".repeat(1024), () => 1);
  const p = await Peer.serve(host);
  t.after(() => p.output.destroy());
  const m = p.request("echo", nested);
  p.output.write(frame(m));
  assert.deepEqual((await p.answer(m[1])).result, nested);
  assert.equal((await p.call("x".repeat(1024))).result, 1);
});

test("an id that is open already ends the connection", async (t) => {
  const host = newHost();
  host.handle("wait", () => new Promise(() => {}));
  const p = await Peer.serve(host);
  t.after(() => p.output.destroy());
  const m = p.request("wait");
  p.send(m, m);
  await assert.rejects(p.served, /open already/);
});

test("items without credit and out of sequence end the connection", async () => {
  for (const [send, message] of [
    [(id) => Array.from({ length: 65 }, (_, i) => [Item, id, i, i]), /item without credit/],
    [(id) => [[Item, id, 1, 1]], /out of sequence: number 1, 0 expected/],
  ]) {
    const host = newHost();
    const p = await Peer.serve(host);
    const items = host.stream("list");
    items.next().catch(() => {});
    const [, id] = await p.expect(0);
    p.send(...send(id));
    await assert.rejects(p.served, message);
  }
});

test("a message whose capability is not in force ends the connection", async () => {
  for (const [cap, message] of [["ack", (id) => [Ack, id]], ["cancel", (id) => [Cancel, id]], ["stream", (id) => [Credit, id, 1]]]) {
    const host = newHost();
    host.handle("wait", () => new Promise(() => {}));
    const p = await Peer.serve(host, all.filter((c) => c !== cap));
    const m = p.request("wait");
    p.send(m, message(m[1]));
    await assert.rejects(p.served, new RegExp(`capability ${cap} is not in force`));
  }
});

test("anything but initialize first, and anything before initialized, ends the connection", async () => {
  for (const send of [(p) => p.send([2, "n", null]), (p) => p.send([0, 1, "echo", null]), (p) => p.send([Response, 1, null, null])]) {
    const host = newHost();
    const p = await Peer.serve(host, all, undefined, send);
    await assert.rejects(p.served, /message before the handshake/);
  }
});

test("an end in the middle of a frame is a broken protocol", async () => {
  const p = await Peer.serve(newHost());
  p.output.end(frame([2, "n", "text"]).subarray(0, 6));
  await assert.rejects(p.served, /truncated: the stream ended after 6 bytes/);
});

test("a frame that only claims to be large takes no memory; its buffer grows as bytes arrive", () => {
  let taken = 0;
  const frames = new Frames(defaultLimits, (b, start, end) => (taken = end - start));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 << 20);
  const before = process.memoryUsage().arrayBuffers;
  frames.push(head, 8);
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20);
  const part = new Uint8Array(1 << 20);
  for (let i = 0; i < 7; i++) frames.push(part, part.length);
  assert.equal(taken, 0);
  frames.push(part, part.length - 4);
  assert.equal(taken, 8 << 20);
});
