import type { Connection } from "./connection.js";
import { ConnectionError, ErrorName, HostError, UsageError, toWire } from "./errors.js";
import type { Host, HandleOptions } from "./host.js";
import type { Handler, Registered, Request } from "./request.js";

/** What an extension is. */
export interface Manifest {
  /** publisher.name; two that differ in case only are the same. */
  id: string;
  /** As people write it; nothing is decided by it. */
  version?: string;
  /** What it is activated by, besides the calls of its methods. */
  events?: string[];
  /** Ids of extensions that are active before it is activated. */
  dependsOn?: string[];
  /**
   * Makes the extension ready. An error is told to the supervisor with its stack, and the
   * extension is not active then. It should return when the signal aborts.
   */
  activate?: (activation: Activation, signal: AbortSignal) => unknown;
  /**
   * Undoes that, after the last handler has returned. The supervisor ends the process if it
   * throws, or does not return in time, when the signal aborts.
   */
  deactivate?: (signal: AbortSignal) => unknown;
}

/** Activation is one run of an extension, from its activate to its deactivate. */
export class Activation {
  private readonly controller = new AbortController();
  private readonly work = new Set<Promise<void>>();

  constructor(
    private readonly extension: Extension,
    /** What it was activated for, `onLanguage:go` for example. */
    readonly event: string,
    /** That belongs to the start, not to something that was done later. */
    readonly startup: boolean,
    /** The extension's own part of what the configuration hands to the host: the member that has its id for a name. */
    readonly config: unknown,
  ) {}

  /** It aborts when the extension is deactivated. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /**
   * Runs fn beside the handlers, until the extension is deactivated, which waits for it. An
   * error of it ends neither the process nor the extension: it is logged and told to the
   * supervisor.
   */
  run(fn: (signal: AbortSignal) => unknown): void {
    const work = (async () => fn(this.signal))().then(
      () => undefined,
      (e: unknown) => this.extension.uncaught(e, this.signal),
    );
    this.work.add(work);
    void work.then(() => this.work.delete(work));
  }

  /** @internal */
  async end(): Promise<void> {
    this.abort();
    await Promise.all(this.work);
  }

  /** @internal */
  abort(): void {
    if (!this.signal.aborted) this.controller.abort(new HostError(ErrorName.NotActive, "the extension is deactivated"));
  }
}

type Phase = "off" | "starting" | "on" | "stopping";

const maxTries = 3; // how often a call has its extension activated

/**
 * Extension is a part of a host that is switched on when it is needed, and can be switched
 * off alone. Make it with Host.extension.
 */
export class Extension {
  private phase: Phase = "off";
  private activation: Activation | undefined = undefined;
  private starting: AbortController | undefined = undefined;
  private failed: { error: unknown } | undefined = undefined;
  private readonly requests = new Set<Request>();
  private waiters: (() => void)[] = []; // of the next change
  /** @internal The number of its activation among all. */
  rank = 0;

  /** @internal */
  constructor(
    private readonly host: Host,
    readonly manifest: Manifest,
    private readonly connection: () => Connection | undefined,
  ) {}

  get id(): string {
    return this.manifest.id;
  }

  get active(): boolean {
    return this.phase === "on";
  }

  /** Registers a handler for a method of the extension, which is active while it runs. */
  handle<P = any, R = unknown>(method: string, fn: Handler<P, R>, options?: HandleOptions): void {
    this.host.register(method, fn as Handler<unknown, unknown>, options, this);
  }

  /** @internal Counts a request as one of the extension, if that is active. */
  enter(r: Request): boolean {
    if (this.phase !== "on") return false;
    this.requests.add(r);
    r.after = () => {
      this.requests.delete(r);
      this.changed();
    };
    return true;
  }

  /** @internal Has the extension activated for a request. */
  async need(r: Request): Promise<void> {
    for (let tries = 0; !this.enter(r); ) {
      if (r.reason !== undefined) throw r.reason;
      if (this.phase !== "off") {
        await this.change(r.signal);
        continue;
      }
      if (tries++ === maxTries) throw notActive(this.id, "it has just been deactivated");
      const event = `onCommand:${r.method}`;
      const c = this.connection();
      if (c?.caps.has("extensions") === true) await c.calls.call("extension/need", { id: this.id, event }, { signal: r.signal, trace: r.trace });
      else await this.byItself(event, false, r.signal, []);
    }
  }

  private to(phase: Phase): void {
    this.phase = phase;
    this.changed();
  }

  private changed(): void {
    for (const f of this.waiters.splice(0)) f();
  }

  /** Resolves at the next change; rejects with the reason of the signal. */
  private change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const aborted = (): void => reject(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      this.waiters.push(() => {
        signal.removeEventListener("abort", aborted);
        resolve();
      });
    });
  }

  private get changing(): boolean {
    return this.phase === "starting" || this.phase === "stopping";
  }

  /** @internal Switches the extension on. What it depends on is. */
  async activate(event: string, startup: boolean, signal: AbortSignal): Promise<void> {
    while (this.changing) await this.change(signal);
    if (this.phase === "on") return;
    const a = new Activation(this, event, startup, this.config());
    const starting = new AbortController();
    const aborted = (): void => starting.abort(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    this.activation = a;
    this.starting = starting;
    this.to("starting");
    try {
      await this.manifest.activate?.(a, starting.signal);
      // One that succeeds when nobody waits for it any more is undone.
      if (starting.signal.aborted) {
        a.abort();
        await this.manifest.deactivate?.(AbortSignal.timeout(this.host.settings.drain));
        throw starting.signal.reason;
      }
      this.rank = this.host.nextRank();
      this.to("on");
    } catch (e) {
      await a.end(); // as long as it goes on, it is not off
      this.activation = undefined;
      this.to("off");
      throw e;
    } finally {
      this.starting = undefined;
      signal.removeEventListener("abort", aborted);
    }
  }

  private config(): unknown {
    const init = this.connection()?.hello?.init;
    if (typeof init !== "object" || init === null) return undefined;
    const own = Object.entries(init).find(([name]) => same(name, this.id));
    return own?.[1] as unknown;
  }

  /**
   * @internal Switches the extension off: handlers get half of the time, then their signals
   * abort; after them deactivate is called.
   */
  async deactivate(ms: number): Promise<void> {
    const end = AbortSignal.timeout(ms);
    this.starting?.abort(notActive(this.id, "it is deactivated"));
    try {
      while (this.changing) await this.change(end);
    } catch {
      throw new Error("its activate does not return");
    }
    if (this.phase === "off") return;
    const a = this.activation as Activation;
    this.to("stopping");
    const half = AbortSignal.timeout(ms / 2);
    let step = "its handlers do";
    const quiet = async (signal: AbortSignal): Promise<void> => {
      while (this.requests.size > 0) await this.change(signal);
    };
    await quiet(half).catch(() => undefined);
    a.abort();
    for (const r of [...this.requests]) r.abort(notActive(this.id, "the extension is deactivated"));
    const never = new AbortController().signal;
    const all = (async () => {
      try {
        await quiet(never);
        step = "its deactivate does";
        await this.manifest.deactivate?.(end);
        step = "what it runs beside its handlers does";
        await a.end();
      } finally {
        this.activation = undefined;
        this.to("off");
      }
    })();
    await new Promise<void>((resolve, reject) => {
      const late = (): void => reject(new Error(`${step} not return within ${ms} ms`));
      if (end.aborted) late();
      end.addEventListener("abort", late, { once: true });
      all.then(resolve, reject).finally(() => end.removeEventListener("abort", late));
    });
  }

  /** @internal Activates it, and before it what it depends on, where the supervisor leaves that to the host. */
  async byItself(event: string, startup: boolean, signal: AbortSignal, chain: Extension[]): Promise<void> {
    if (this.phase === "on") return;
    if (chain.includes(this)) throw notActive(this.id, "it depends on itself");
    if (this.failed !== undefined) throw this.failed.error;
    for (const id of this.manifest.dependsOn ?? []) {
      const dep = this.host.findExtension(id);
      if (dep === undefined) throw notActive(this.id, `it depends on ${id}, and there is no such extension`);
      try {
        await dep.byItself(event, startup, signal, [...chain, this]);
      } catch (cause) {
        throw notActive(this.id, `it depends on ${id}`, cause);
      }
    }
    try {
      await this.activate(event, startup, signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      const error = notActive(this.id, "its activation has failed", cause);
      this.failed = { error };
      throw error;
    }
  }

  /** @internal */
  uncaught(thrown: unknown, signal: AbortSignal): void {
    if (signal.aborted && thrown === signal.reason) return;
    this.host.settings.log(`extension ${this.id}: uncaught`, thrown);
    const c = this.connection();
    if (c === undefined || !c.caps.has("extensions")) return;
    const { name, message, stack } = toWire(thrown);
    c.calls.notify("extension/uncaught", { id: this.id, error: { name, message, stack: stack ?? "" } }, undefined).catch(() => undefined); // it is in the log
  }
}

function notActive(id: string, why: string, cause?: unknown): HostError {
  return new HostError(ErrorName.NotActive, `${id}: ${why}`, { cause });
}

/** Whether two ids are the same. */
export function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Refuses a manifest that is none. */
export function checkManifest(m: Manifest): void {
  for (const id of [m.id, ...(m.dependsOn ?? [])]) {
    if (typeof id !== "string" || !/^[^\s.][^.]*\.\S(.*\S)?$/.test(id) || id.length > 256) {
      throw new UsageError(`${JSON.stringify(id)} is no id of an extension; expected publisher.name`);
    }
  }
}

/** The handlers of what a supervisor asks of extensions. */
export function controls(host: Host): Record<string, Registered> {
  const find = (params: unknown): { x: Extension; p: Record<string, unknown> } => {
    const p = (typeof params === "object" && params !== null ? params : {}) as Record<string, unknown>;
    const id = p["id"];
    if (typeof id !== "string") throw new HostError(ErrorName.InvalidParams, "params.id: want a string");
    const x = host.findExtension(id);
    if (x === undefined) throw notActive(id, "there is no such extension in this host");
    return { x, p };
  };
  const control = (fn: Handler<unknown, unknown>): Registered => ({ fn, inline: false, extension: undefined, control: true });
  return {
    "extension/activate": control(async (params, ctx) => {
      const { x, p } = find(params);
      const began = performance.now();
      await x.activate(typeof p["event"] === "string" ? p["event"] : "", p["startup"] === true, ctx.signal);
      return { took_ms: performance.now() - began };
    }),
    "extension/deactivate": control(async (params) => {
      const { x, p } = find(params);
      const ms = Number(p["timeout_ms"]);
      await x.deactivate(Math.min(Math.max(Number.isFinite(ms) ? ms : 0, 0), 2 ** 31 - 1));
    }),
  };
}

/** Activates what belongs to the start of a host that does so by itself. */
export async function startup(host: Host, all: Extension[], signal: AbortSignal): Promise<void> {
  for (const event of ["*", "onStartupFinished"]) {
    for (const x of all) {
      if (signal.aborted || x.manifest.events?.includes(event) !== true) continue;
      try {
        await x.byItself(event, true, signal, []);
      } catch (e) {
        if (!(e instanceof ConnectionError)) host.settings.log(`extension ${x.id}: activation failed`, e);
      }
    }
  }
}
