import { inspect } from "node:util";
import { Connection } from "./connection.js";
import { ConnectionError, UsageError } from "./errors.js";
import { Extension, checkManifest, controls, same, startup, type Manifest } from "./extension.js";
import type { Hello } from "./handshake.js";
import type { NoteContext, NoteHandler } from "./notes.js";
import type { CallOptions, Handler, Registered } from "./request.js";
import { defaultLimits, type Limits } from "./scan.js";
import { open, type Wire } from "./transport.js";

/** What a host says of itself in the handshake. */
export interface Info {
  name: string;
  version?: string;
}

/** Where failures go that no answer can carry. */
export type Log = (message: string, error: unknown) => void;

export interface HostOptions {
  /** How many requests are handled at once; default 1024. More than that are acknowledged and wait. */
  maxConcurrent?: number;
  /**
   * Milliseconds that a graceful end waits for handlers before it aborts their signals, and
   * then for the functions of onShutdown; default 1500.
   */
  drain?: number;
  /** Bytes that may wait for a supervisor that reads slowly before reading stops; default 1 MiB. */
  outgoing?: number;
  /** What is accepted of the supervisor, and the size of a message to it. */
  limits?: Partial<Limits>;
  /** The capabilities that are offered; default all of ack, cancel, stream, trace and ping. */
  capabilities?: string[];
  /** The signals on which serve ends gracefully; default SIGTERM. */
  signals?: NodeJS.Signals[];
  /** Default: a line on standard error. */
  log?: Log;
  /**
   * Whether the process exits half a second after serve has ended, if something still keeps it
   * alive, such as a timer; default true. A host must end with its connection.
   */
  exit?: boolean;
}

export interface HandleOptions {
  /**
   * Runs the handler as its request is read, without an acknowledgement: the quickest way,
   * for handlers that never block. While it runs, nothing else is read or acknowledged.
   */
  inline?: boolean;
  /** Takes the place of a handler that is registered already, which is an error otherwise. */
  replace?: boolean;
}

/** The options of a Host, with their defaults. */
export interface Settings {
  maxConcurrent: number;
  drain: number;
  outgoing: number;
  limits: Limits;
  log: Log;
}

/** What a Connection uses of a Host. */
export interface HostParts {
  readonly info: Info;
  readonly settings: Settings;
  capabilities(): string[];
  announced(): unknown[];
  handler(method: string, extensions: boolean): Registered | undefined;
  noteHandler(method: string): NoteHandler<unknown> | undefined;
  opening(hello: Hello): Promise<void> | undefined;
  opened(conn: Connection): void;
  ending(): void;
  shutdown(drain: number): Promise<void>;
}

const allCapabilities = ["ack", "cancel", "stream", "trace", "ping"];
const own = /^(initialize|initialized|shutdown|\$\/.*|extension\/.*)$/;

/**
 * Host is a process that a supervisor starts, talks to, watches and restarts. Register
 * handlers, then call serve, once.
 */
export class Host {
  /** Resolves when the handshake is done; rejects when the connection ends before. */
  readonly ready: Promise<Hello>;
  /** It aborts when the end begins: a goodbye, a signal, or the loss of the supervisor. */
  readonly stopping: AbortSignal;
  /** @internal */
  readonly settings: Settings;

  private readonly handlers = new Map<string, Registered>();
  private readonly notes = new Map<string, NoteHandler<unknown>>();
  private otherNotes: NoteHandler<unknown> | undefined = undefined;
  private readonly openers: ((hello: Hello) => unknown)[] = [];
  private readonly hooks: ((signal: AbortSignal) => unknown)[] = [];
  private readonly extensions: Extension[] = [];
  private readonly controls: Record<string, Registered>;
  private readonly stop = new AbortController();
  private conn: Connection | undefined = undefined;
  private served = false;
  private ranks = 0;
  private settleReady!: { resolve: (h: Hello) => void; reject: (e: unknown) => void };

  constructor(
    private readonly info: Info,
    private readonly options: HostOptions = {},
  ) {
    if (typeof info?.name !== "string" || info.name === "") throw new UsageError("a host has a name: new Host({ name, version })");
    this.settings = {
      maxConcurrent: Math.max(options.maxConcurrent ?? 1024, 1),
      drain: Math.max(options.drain ?? 1500, 0),
      outgoing: Math.max(options.outgoing ?? 1 << 20, 1),
      limits: { ...defaultLimits, ...options.limits },
      log: options.log ?? ((message, error) => void process.stderr.write(`${message}: ${inspect(error)}\n`)),
    };
    this.stopping = this.stop.signal;
    this.controls = controls(this);
    this.ready = new Promise((resolve, reject) => (this.settleReady = { resolve, reject }));
    this.ready.catch(() => undefined); // whoever does not wait for it hears of it from serve
  }

  /**
   * Registers fn for the requests of method. It returns the result, or a promise of it; an
   * async generator (or another async iterable) is sent item by item, as the caller allows.
   * What it throws is answered as an error.
   */
  handle<P = any, R = unknown>(method: string, fn: Handler<P, R>, options?: HandleOptions): this {
    this.register(method, fn as Handler<unknown, unknown>, options, undefined);
    return this;
  }

  /** @internal */
  register(method: string, fn: Handler<unknown, unknown>, options: HandleOptions | undefined, extension: Extension | undefined): void {
    if (typeof method !== "string" || method === "" || Buffer.byteLength(method) > 1024) {
      throw new UsageError(`the method ${JSON.stringify(method)} is no string of 1 to 1024 bytes`);
    }
    if (typeof fn !== "function") throw new UsageError(`the handler of ${method} is no function`);
    if (own.test(method)) throw new UsageError(`the method ${method} belongs to the protocol`);
    if (this.handlers.has(method) && options?.replace !== true) {
      throw new UsageError(`${method} has a handler already; { replace: true } puts another one in its place`);
    }
    this.handlers.set(method, { fn, inline: options?.inline === true, extension, control: false });
  }

  /**
   * Registers fn for the notifications of method. Notifications are handled one after the
   * other in the order of arrival. Errors are logged; notifications without a handler are
   * dropped.
   */
  onNotify<P = any>(method: string, fn: (params: P, ctx: NoteContext) => unknown): this {
    if (typeof fn !== "function") throw new UsageError(`the handler of the notification ${method} is no function`);
    if (this.notes.has(method)) throw new UsageError(`the notification ${method} has a handler already`);
    this.notes.set(method, fn as NoteHandler<unknown>);
    return this;
  }

  /** Registers fn for the notifications that have no handler; ctx.method names them. */
  onOtherNotify(fn: (params: any, ctx: NoteContext) => unknown): this {
    this.otherNotes = fn;
    return this;
  }

  /** Registers fn to be told what the supervisor says, before that has the answer. What it throws ends the connection. */
  onInitialize(fn: (hello: Hello) => unknown): this {
    this.openers.push(fn);
    return this;
  }

  /**
   * Registers fn to run when the connection ends, in whatever way: after the last handler has
   * returned, and before a goodbye is answered; the last registered first.
   */
  onShutdown(fn: (signal: AbortSignal) => unknown): this {
    this.hooks.push(fn);
    return this;
  }

  /** Adds an extension. It is announced with the methods that it has when serve is called. */
  extension(manifest: Manifest): Extension {
    checkManifest(manifest);
    if (this.findExtension(manifest.id) !== undefined) throw new UsageError(`there are two extensions with the id ${manifest.id}`);
    if (this.served) throw new UsageError("extensions are added before serve");
    const x = new Extension(this, { ...manifest }, () => this.conn);
    this.extensions.push(x);
    return x;
  }

  /** @internal */
  findExtension(id: string): Extension | undefined {
    return this.extensions.find((x) => same(x.id, id));
  }

  /** @internal */
  nextRank(): number {
    return ++this.ranks;
  }

  /**
   * Sends a request to the supervisor. It rejects with a HostError that the supervisor answers,
   * with the signal's reason, with a ConnectionError when the connection ends, or with what
   * is wrong with the params.
   */
  async call<R = unknown>(method: string, params?: unknown, options?: CallOptions): Promise<R> {
    return (await this.connected()).calls.call(method, params, options) as Promise<R>;
  }

  /**
   * Sends a request to the supervisor and yields the items of its result as they come. A
   * result that comes as one value is yielded as the only item, unless it is nil. Leaving the
   * loop cancels the request.
   */
  async *stream<R = unknown>(method: string, params?: unknown, options?: CallOptions): AsyncGenerator<R, unknown, undefined> {
    return yield* (await this.connected()).calls.stream(method, params, options) as AsyncIterableIterator<R>;
  }

  /** Sends a notification to the supervisor; resolves when there is room for more. */
  async notify(method: string, params?: unknown): Promise<void> {
    return (await this.connected()).calls.notify(method, params, undefined);
  }

  private async connected(): Promise<Connection> {
    if (this.conn === undefined || this.conn.phase !== 3) await this.ready;
    return this.conn as Connection;
  }

  /**
   * Opens the connection that the environment names and serves it until its end. It resolves
   * after a goodbye, a signal or stopServing, and rejects with a ConnectionError when the
   * supervisor closes without a goodbye, with a ProtocolError when it breaks the protocol.
   */
  async serve(): Promise<void> {
    if (this.served) throw new UsageError("a host serves one connection in its life");
    this.served = true;
    let failed = true;
    const signals = this.options.signals ?? ["SIGTERM"];
    const leave = (): void => void this.stopServing();
    try {
      const early: Uint8Array[] = [];
      const wire = await open((b, n) => {
        if (this.conn === undefined) early.push(b.slice(0, n));
        else this.conn.received(b, n);
      });
      const conn = this.attach(wire);
      for (const b of early) conn.received(b, b.length);
      for (const s of signals) process.once(s, leave);
      await conn.ending.done;
      failed = false;
    } catch (e) {
      this.settleReady.reject(e);
      throw e;
    } finally {
      for (const s of signals) process.removeListener(s, leave);
      this.settleReady.reject(new ConnectionError("Closed", "the connection has ended"));
      if (this.options.exit !== false) setTimeout(() => process.exit(process.exitCode ?? (failed ? 1 : 0)), 500).unref();
    }
  }

  private attach(wire: Wire): Connection {
    const parts: HostParts = {
      info: this.info,
      settings: this.settings,
      capabilities: () => [...(this.options.capabilities ?? allCapabilities), ...(this.extensions.length > 0 ? ["extensions"] : [])],
      announced: () => this.announced(),
      handler: (method, extensions) => (extensions ? this.controls[method] : undefined) ?? this.handlers.get(method),
      noteHandler: (method) => this.notes.get(method) ?? this.otherNotes,
      opening: (hello) => this.opening(hello),
      opened: (conn) => {
        this.settleReady.resolve(conn.hello as Hello);
        if (this.extensions.length > 0 && !conn.caps.has("extensions")) void startup(this, this.extensions, this.stopping);
      },
      ending: () => this.stop.abort(new ConnectionError("ShuttingDown", "the host is shutting down")),
      shutdown: (drain) => this.shutdown(drain),
    };
    this.conn = new Connection(parts, wire);
    return this.conn;
  }

  private announced(): unknown[] {
    return this.extensions.map((x) => ({
      id: x.id,
      version: x.manifest.version ?? "",
      events: x.manifest.events ?? [],
      depends_on: x.manifest.dependsOn ?? [],
      methods: [...this.handlers].filter(([, h]) => h.extension === x).map(([method]) => method).sort(),
    }));
  }

  /** Runs the functions of onInitialize; undefined: they are done. */
  private opening(hello: Hello): Promise<void> | undefined {
    if (this.openers.length === 0) return undefined;
    return (async () => {
      for (const fn of this.openers) await fn(hello);
    })();
  }

  /** Runs the functions of onShutdown. */
  private async shutdown(drain: number): Promise<void> {
    const signal = AbortSignal.timeout(drain);
    const failed = (e: unknown): void => this.settings.log("a function of onShutdown failed", e);
    const active = [...this.extensions].sort((a, b) => b.rank - a.rank);
    for (const x of active) await x.deactivate(drain).catch((e: unknown) => this.settings.log(`extension ${x.id}`, e));
    for (const fn of [...this.hooks].reverse()) {
      try {
        await fn(signal);
      } catch (e) {
        failed(e);
      }
    }
  }

  /** Ends the host gracefully from its own side, as SIGTERM does. */
  async stopServing(): Promise<void> {
    await this.conn?.ending.leave();
  }
}
