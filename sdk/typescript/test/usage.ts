// How the package is used, for the type checker.
import { CancelledError, ConnectionError, Host, HostError, type Context, type Hello } from "@hostsup/host";

const host = new Host({ name: "usage", version: "1.0" }, { maxConcurrent: 10, log: (message, error) => console.error(message, error) });

host.handle("greet", async (name: string, ctx) => {
  ctx.signal.throwIfAborted();
  await ctx.progress({ done: 0.5 });
  const title = await ctx.call<string>("title", { name });
  return `hello ${title} ${name}`;
});

host.handle("count", async function* (n: number, ctx: Context) {
  for (let i = 0; i < n; i++) {
    if (ctx.signal.reason instanceof CancelledError) return;
    yield i;
  }
});

host.handle("sum", async () => {
  let sum = 0;
  for await (const n of host.stream<number>("numbers")) sum += n;
  return sum;
});

host.handle("fail", () => {
  throw new HostError("Refused", "not now", { code: 7, data: { after: 5 } });
}, { inline: true });

host.onNotify("changed", (path: string) => console.log(path));

host
  .extension({ id: "acme.fmt", events: ["onLanguage:go"], activate: (a) => a.run((signal) => void signal), deactivate: () => undefined })
  .handle("fmt.run", (text: string) => text.trim());

host.onInitialize((hello: Hello) => console.error(hello.host.name));
host.onShutdown(() => host.notify("bye"));

host.serve().catch((e: unknown) => {
  if (e instanceof ConnectionError && e.reason === "PeerGone") process.exitCode = 1;
});
