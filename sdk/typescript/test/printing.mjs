// A host of the tests: it prints wherever it can, and does a little of everything.
import { Host } from "@hostsup/host";

const { stdout } = process; // kept, as libraries do

const host = new Host({ name: "printing" });
host.handle("print", (text) => {
  console.log(`by console ${text}`);
  stdout.write(`by write ${text}\n`);
  console.info("by info");
  return "printed";
});
host.handle("stdin", async () => {
  if (Object.getOwnPropertyDescriptor(process, "stdin")?.get !== undefined) return "untouched";
  let text = "";
  for await (const b of process.stdin) text += b;
  return text;
});
host.handle("env", () => Object.keys(process.env).filter((name) => name.startsWith("HOSTSUP_")));
host.handle("timer", () => void setInterval(() => {}, 1000));
host.handle("echo", (x) => x);
host.handle("later", async (x, ctx) => {
  await new Promise(setImmediate);
  ctx.signal.throwIfAborted();
  return x;
});
host.handle("count", async function* () {
  for (let i = 0; i < 2; i++) yield i;
});
host.handle("fail", () => {
  throw new Error("always");
});
host.handle("memory", () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
});

const served = host.serve();
console.log("at import");
await served;
