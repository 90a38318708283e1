import type { Connection } from "./connection.js";
import { ConnectionError } from "./errors.js";
import { State, type Registered } from "./request.js";

/** How long, in milliseconds, those whose signal has aborted get to return, and the last bytes to leave. */
const settle = 500;

/** Ending is how a connection ends. */
export class Ending {
  /** Resolves or rejects with the connection; see Host.serve. */
  readonly done: Promise<void>;
  /** New requests are refused. */
  refusing = false;
  /** Nothing is read any more. */
  over = false;
  private parting = false; // a goodbye was asked for
  private finish!: (e: Error | undefined) => void;
  private draining: Promise<void> | undefined = undefined;
  private gone: Error | undefined = undefined;
  private hooks = 0; // that run
  private aside = 0; // open requests that the drain does not wait for
  private checks: (() => void)[] = [];
  private readonly stopped = new AbortController();

  constructor(private readonly conn: Connection) {
    this.done = new Promise((resolve, reject) => {
      this.finish = (e) => (e === undefined ? resolve() : reject(e));
    });
  }

  /** The handler of shutdown: it is answered when the drain is over. */
  readonly goodbye: Registered = {
    control: true,
    inline: true,
    extension: undefined,
    fn: async () => {
      this.parting = true;
      this.aside++;
      await this.drain();
      this.aside--;
    },
  };

  /** Aborts when the end begins. */
  get signal(): AbortSignal {
    return this.stopped.signal;
  }

  private get busy(): number {
    return this.conn.open - this.aside + this.conn.notes.open + this.hooks;
  }

  /** Something has ended that somebody may wait for. */
  check(): void {
    if (this.checks.length === 0 || this.busy > 0) return;
    for (const f of this.checks.splice(0)) f();
  }

  /** Resolves when nothing is busy, after ms, or when the signal aborts. */
  private idle(ms: number, unless?: AbortSignal): Promise<void> {
    if (this.busy === 0 || unless?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        unless?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      unless?.addEventListener("abort", end);
      this.checks.push(end);
    });
  }

  private readonly cut = new AbortController(); // the stream has ended

  /** Begins the end of the connection, once; resolves when handlers and hooks are done. */
  drain(): Promise<void> {
    this.draining ??= this.run();
    return this.draining;
  }

  private async run(): Promise<void> {
    const { conn } = this;
    const { drain } = conn.host.settings;
    this.refusing = true;
    this.stopped.abort(new ConnectionError("ShuttingDown", "the host is shutting down"));
    conn.host.ending();
    await Promise.resolve(); // the goodbye that began this has stepped aside
    await this.idle(drain, this.cut.signal);
    if (this.busy > 0) {
      const wait = this.gone === undefined ? settle : Math.max(settle, drain);
      this.abort(new ConnectionError("ShuttingDown", "the host is shutting down"));
      await this.idle(wait);
    }
    // The answers of handlers leave before a hook can end the process.
    await conn.writer.settled(settle);
    await this.runHooks(drain);
  }

  private async runHooks(drain: number): Promise<void> {
    this.hooks++; // one that does not return is noticed
    const all = this.conn.host.shutdown(drain).finally(() => {
      this.hooks--;
      this.check();
    });
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([all, new Promise((resolve) => (timer = setTimeout(resolve, drain + settle)))]);
    clearTimeout(timer);
  }

  private abort(reason: unknown): void {
    for (const r of [...this.conn.requests()]) {
      if (r.handler === this.goodbye) continue;
      const waits = r.state === State.Waiting;
      r.abort(reason);
      if (waits) this.conn.fail(r, reason);
    }
  }

  /** The stream has ended, or is to. */
  ended(e: Error): void {
    if (this.over) return;
    this.over = true;
    const gone = e instanceof ConnectionError && e.reason === "PeerGone";
    const verdict = gone && this.parting ? undefined : e;
    this.gone = verdict ?? new ConnectionError("Closed", "the connection has ended");
    this.lose(this.gone);
    this.abort(this.gone);
    this.cut.abort();
    void this.drain().then(() => this.close(verdict));
  }

  private lose(e: Error): void {
    this.conn.lost ??= e;
    this.conn.calls.lose(this.conn.lost);
  }

  /** Ends the connection from this side. */
  async leave(): Promise<void> {
    await this.drain();
    if (this.over) return;
    await this.conn.writer.settled(settle);
    this.over = true;
    this.close(undefined);
  }

  private close(verdict: Error | undefined): void {
    this.over = true;
    this.lose(new ConnectionError("ShuttingDown", "the host is shutting down"));
    const stuck = this.busy;
    this.conn.close();
    if (stuck > 0 && verdict === undefined) {
      this.finish(new ConnectionError("Stuck", `handlers did not return: ${stuck} of them`));
    } else this.finish(verdict);
  }
}
