// The host of `hostsup conformance`: what a host can do, by the names that the kit calls.
import { Host, HostError } from "@hostsup/host";

const host = new Host({ name: "conformance-typescript", version: "1.0" });
const notes = [];
const waiting = new Set();
let noted = () => {};

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

host.handle("conformance/echo", (v) => v);

host.handle("conformance/block", (p, ctx) => {
  if (p?.sync !== true) return pause(p?.ms ?? 0, ctx.signal).then(() => null);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, p.ms ?? 0);
  return null;
});

host.handle("conformance/wait", (_, ctx) =>
  new Promise((resolve, reject) => {
    const release = () => resolve("released");
    waiting.add(release);
    ctx.signal.addEventListener("abort", () => {
      waiting.delete(release);
      reject(ctx.signal.reason);
    });
  }));

host.handle("conformance/release", () => {
  const n = waiting.size;
  for (const release of waiting) release();
  waiting.clear();
  return n;
});

host.handle("conformance/count", async function* (p, ctx) {
  for (let i = 0; i < (p?.n ?? 0); i++) yield i;
  if (p?.wait === true) await pause(2 ** 31 - 1, ctx.signal);
});

host.handle("conformance/fail", (p) => {
  throw new HostError(p?.name ?? "", p?.message ?? "", { code: p?.code, data: p?.data ?? undefined });
});

host.handle("conformance/throw", (p) => {
  throw new Error(p?.message ?? "");
});

host.handle("conformance/call", (p, ctx) => ctx.call(p.method, p.params));

host.handle("conformance/collect", async (p, ctx) => {
  const out = [];
  const items = ctx.stream(p.method, p.params);
  for (;;) {
    const next = await items.next();
    if (next.done) return next.value === undefined ? out : [...out, next.value];
    out.push(next.value);
    if (p.max > 0 && out.length >= p.max) {
      await items.return();
      return out;
    }
  }
});

host.handle("conformance/notify", async (p, ctx) => {
  await ctx.notify(p.method, p.params);
  return null;
});

host.onNotify("conformance/note", (p) => {
  notes.push(p ?? null);
  noted();
});

host.handle("conformance/notes", (p) => {
  const n = p?.n ?? 0;
  if (notes.length >= n) return notes;
  return new Promise((resolve) => {
    const before = noted;
    noted = () => {
      before();
      if (notes.length >= n) resolve(notes);
    };
  });
});

host.handle("conformance/trace", (_, ctx) => ctx.trace ?? null);

host.handle("conformance/print", (p) => {
  console.log(p?.text ?? "");
  return null;
});

host
  .extension({ id: "conformance.unit", version: "1.0", events: ["onCommand:conformance/unit", "onConformance"] })
  .handle("conformance/unit", () => "active");

host.extension({
  id: "conformance.broken",
  events: ["onBroken"],
  activate() {
    throw new HostError("Broken", "this extension is broken");
  },
});

await host.serve();
