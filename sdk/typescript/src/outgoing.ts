import type { Connection } from "./connection.js";
import { ErrorName, HostError } from "./errors.js";
import type { Request } from "./request.js";
import { encode } from "./pack.js";

/** Items that are kept while it is open whether the caller takes items. */
const held = 64;

/**
 * Callers send credit right behind the request, so that it nearly always is there already.
 * The grace, in milliseconds, covers a sender that was interrupted between the two.
 */
const grace = 50;

/** Items that are sent before the loop turns: a generator may never wait for anything. */
const burst = 256;

type Items = AsyncIterator<unknown> | Iterator<unknown>;

/** isStream says whether a result is sent as items: an async iterable, or a generator. */
export function isStream(v: object): v is AsyncIterable<unknown> | Iterable<unknown> {
  return Symbol.asyncIterator in v || Object.prototype.toString.call(v) === "[object Generator]";
}

function iterate(v: AsyncIterable<unknown> | Iterable<unknown>): Items {
  return Symbol.asyncIterator in v ? v[Symbol.asyncIterator]() : v[Symbol.iterator]();
}

/** OutgoingStream sends the items of one result, as the caller allows them. */
export class OutgoingStream {
  private kept: unknown[] = [];
  private bytes = 0; // of kept
  private seq = 0;
  private late = false;
  private changed: (() => void) | undefined = undefined;
  private readonly until: number;

  constructor(
    private readonly conn: Connection,
    private readonly r: Request,
  ) {
    this.until = Date.now() + grace;
  }

  /** Something has changed: credit, room, the end. */
  wake(): void {
    const f = this.changed;
    this.changed = undefined;
    f?.();
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => (this.changed = resolve));
  }

  /** Runs through the items; resolves with what is answered. */
  async run(source: AsyncIterable<unknown> | Iterable<unknown>): Promise<unknown> {
    const items = iterate(source);
    let timer: NodeJS.Timeout | undefined;
    if (!this.conn.caps.has("stream")) this.late = true;
    else if (!this.r.credited) {
      timer = setTimeout(() => {
        this.late = true;
        this.wake();
      }, this.until - Date.now());
    }
    let done = false;
    try {
      for (let n = 1; ; n++) {
        const next = await this.next(items);
        if (next.done === true) {
          done = true;
          return await this.end(next.value);
        }
        this.check();
        await this.send(next.value);
        if (n % burst === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      clearTimeout(timer);
      // The generator's own finally blocks run before the answer.
      if (!done) await items.return?.(undefined);
    }
  }

  /** The next item. Those that were kept are sent meanwhile, when credit comes: it may take for ever. */
  private async next(items: Items): Promise<IteratorResult<unknown>> {
    const next = items.next();
    if (this.kept.length === 0 || !("then" in next)) return next;
    const coming = Promise.resolve(next);
    let come = false;
    const settled = (): void => {
      come = true;
      this.wake();
    };
    coming.then(settled, settled);
    for (;;) {
      // A turn for what is there already.
      await Promise.resolve();
      if (come || this.kept.length === 0 || this.r.reason !== undefined) return coming;
      if (this.r.credited && this.r.credit > 0) this.put(this.kept.shift());
      else await this.wait();
    }
  }

  private check(): void {
    if (this.r.reason !== undefined) throw this.r.reason;
  }

  private async end(last: unknown): Promise<unknown> {
    while (!this.r.credited && !this.late && this.r.reason === undefined) await this.wait();
    while (this.r.credited && this.kept.length > 0) await this.pour();
    if (this.r.credited) return last;
    return last === undefined ? this.kept : [...this.kept, last];
  }

  private async send(item: unknown): Promise<void> {
    for (;;) {
      this.check();
      if (this.r.credited) {
        if (this.kept.length > 0) await this.pour();
        else if (this.r.credit > 0) {
          const space = this.conn.writer.space();
          if (space === undefined) {
            this.put(item);
            return;
          }
          await space;
        } else await this.wait();
        continue;
      }
      if (!this.late && this.kept.length >= held) {
        await this.wait();
        continue;
      }
      this.keep(item);
      return;
    }
  }

  private keep(item: unknown): void {
    this.bytes += encode(item).length; // throws for what cannot be sent
    if (this.bytes > this.conn.limits.frame - 64) {
      throw new HostError(ErrorName.TooLarge, `too many items for a caller that gave no credit: more than ${this.conn.limits.frame} bytes`);
    }
    this.kept.push(item);
  }

  /** Sends one of the items that were kept. */
  private async pour(): Promise<void> {
    this.check();
    if (this.r.credit === 0) {
      await this.wait();
      return;
    }
    this.put(this.kept.shift());
  }

  private put(item: unknown): void {
    this.conn.writer.item(this.r.id, this.seq, item);
    this.seq++;
    this.r.credit--;
    this.conn.soon();
  }
}
