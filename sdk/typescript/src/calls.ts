import type { Connection } from "./connection.js";
import { CancelledError, ProtocolError, fromWire } from "./errors.js";
import type { CallOptions } from "./request.js";
import type { Trace } from "./writer.js";

const window = 64; // items that the supervisor may send ahead

/** A request of this host. */
interface Call {
  method: string;
  /** The caller has left; the answer is dropped. */
  left: boolean;
  settle(error: unknown, result: unknown): void;
  items: IncomingStream | undefined;
}

/** Calls are the requests of this host to its supervisor. */
export class Calls {
  private readonly open = new Map<number, Call>();
  private last = 0;

  constructor(private readonly conn: Connection) {}

  /** Whether the host has ever used the id. */
  given(id: number): boolean {
    return id <= this.last;
  }

  call(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    const lost = this.refusal(options.signal);
    if (lost !== undefined) return Promise.reject(lost.error);
    const space = this.conn.writer.space();
    if (space !== undefined) return space.then(() => this.call(method, params, options));
    return new Promise((resolve, reject) => {
      this.start(method, params, options, (error, result) => (error === undefined ? resolve(result) : reject(error)), undefined);
    });
  }

  stream(method: string, params: unknown, options: CallOptions = {}): IncomingStream {
    return new IncomingStream((s) => {
      const lost = this.refusal(options.signal);
      if (lost !== undefined) throw lost.error;
      return this.start(method, params, options, (error, result) => s.end(error, result), s);
    }, this.conn);
  }

  private refusal(signal: AbortSignal | undefined): { error: unknown } | undefined {
    if (this.conn.lost !== undefined) return { error: this.conn.lost };
    return signal?.aborted === true ? { error: signal.reason } : undefined;
  }

  /** Sends a request; returns how to leave it. */
  private start(
    method: string, params: unknown, options: CallOptions, done: (error: unknown, result: unknown) => void, items: IncomingStream | undefined,
  ): { id: number; leave: (reason: unknown) => void } {
    const id = this.next();
    this.conn.writer.request(id, method, params, this.conn.caps.has("trace") ? options.trace : undefined);
    this.last = Math.max(this.last, id);
    const { signal } = options;
    const leave = (reason: unknown): void => {
      if (call.left || !this.open.has(id)) return;
      call.left = true;
      if (this.conn.caps.has("cancel")) {
        this.conn.writer.cancel(id);
        this.conn.soon();
      }
      call.settle(reason, undefined);
    };
    const aborted = (): void => leave(signal?.reason);
    const call: Call = {
      method,
      left: false,
      items,
      settle: (error, result) => {
        signal?.removeEventListener("abort", aborted);
        done(error, result);
      },
    };
    this.open.set(id, call);
    signal?.addEventListener("abort", aborted, { once: true });
    if (items !== undefined && this.conn.caps.has("stream")) {
      this.conn.writer.credit(id, window);
      items.granted(window);
    }
    this.conn.soon();
    return { id, leave };
  }

  private next(): number {
    let id = this.last;
    do id = id === 0xffffffff ? 1 : id + 1;
    while (this.open.has(id));
    return id;
  }

  notify(method: string, params: unknown, trace: Trace | undefined): Promise<void> {
    if (this.conn.lost !== undefined) return Promise.reject(this.conn.lost);
    try {
      this.conn.writer.notification(method, params, this.conn.caps.has("trace") ? trace : undefined);
    } catch (e) {
      return Promise.reject(e);
    }
    this.conn.soon();
    return this.conn.writer.space() ?? done;
  }

  /** Takes in a response; error is undefined or null when there is none. */
  response(id: number, error: unknown, result: () => unknown): void {
    const call = this.open.get(id);
    if (call === undefined) throw new ProtocolError(`id never given: a response to request ${id}, which is not open`);
    this.open.delete(id);
    if (call.left) return;
    if (error !== undefined && error !== null) {
      call.settle(fromWire(error), undefined);
      return;
    }
    let value: unknown;
    try {
      value = result();
    } catch (cause) {
      call.settle(new Error(`the result of ${call.method} cannot be read`, { cause }), undefined);
      return;
    }
    call.settle(undefined, value);
  }

  item(id: number, seq: number, value: () => unknown): void {
    const call = this.open.get(id);
    if (call === undefined) return;
    if (call.items === undefined) throw new ProtocolError(`item without credit: request ${id} takes none`);
    call.items.push(seq, value);
  }

  /** All that is open ends. */
  lose(error: unknown): void {
    const open = [...this.open.values()];
    this.open.clear();
    for (const call of open) if (!call.left) call.settle(error, undefined);
  }
}

const done = Promise.resolve();

type Waiter = { resolve: (r: IteratorResult<unknown>) => void; reject: (e: unknown) => void };

/** IncomingStream is the result of a call, item by item. */
export class IncomingStream implements AsyncIterableIterator<unknown> {
  private readonly queue: unknown[] = [];
  private readonly waiters: Waiter[] = [];
  private credit = 0;
  private seq = 0;
  private taken = 0; // since credit was given
  private some = false;
  private over = false;
  private result: unknown = undefined; // that came after items
  private failed: { error: unknown } | undefined = undefined;
  private request: { id: number; leave: (reason: unknown) => void } | undefined = undefined;

  constructor(
    start: (s: IncomingStream) => { id: number; leave: (reason: unknown) => void },
    private readonly conn: Connection,
  ) {
    try {
      this.request = start(this);
    } catch (error) {
      this.end(error, undefined);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.queue.length > 0) {
      const value = this.queue.shift();
      this.took();
      return Promise.resolve({ done: false, value });
    }
    if (this.failed !== undefined) {
      const { error } = this.failed;
      this.failed = undefined;
      return Promise.reject(error);
    }
    if (this.over) return Promise.resolve({ done: true, value: this.result });
    return new Promise((resolve, reject) => this.waiters.push({ resolve, reject }));
  }

  /** Leaves the stream: the supervisor is told. */
  return(): Promise<IteratorResult<unknown>> {
    this.queue.length = 0;
    this.request?.leave(new CancelledError("the loop over the stream was left"));
    this.over = true;
    this.failed = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  private took(): void {
    if (++this.taken < window / 2 || this.over || this.request === undefined) return;
    this.credit += this.taken;
    this.conn.writer.credit(this.request.id, this.taken);
    this.conn.soon();
    this.taken = 0;
  }

  granted(n: number): void {
    this.credit += n;
  }

  push(seq: number, value: () => unknown): void {
    if (this.credit === 0) throw new ProtocolError("item without credit");
    if (seq !== this.seq) throw new ProtocolError(`item out of sequence: number ${seq}, ${this.seq} expected`);
    this.credit--;
    this.seq = this.seq === 0xffffffff ? 0 : this.seq + 1;
    if (this.over) return;
    this.some = true;
    let item: unknown;
    try {
      item = value();
    } catch (error) {
      this.request?.leave(error);
      return;
    }
    const waiter = this.waiters.shift();
    if (waiter === undefined) this.queue.push(item);
    else {
      waiter.resolve({ done: false, value: item });
      this.took();
    }
  }

  /** A result that comes as one value is the only item, unless it is nil. */
  end(error: unknown, result: unknown): void {
    if (this.over) return;
    this.over = true;
    if (error !== undefined) this.failed = { error };
    else if (!this.some && result !== null && result !== undefined) {
      const first = this.waiters.shift();
      if (first === undefined) this.queue.push(result);
      else first.resolve({ done: false, value: result });
    } else this.result = result ?? undefined;
    for (const w of this.waiters.splice(0)) {
      if (this.failed === undefined) w.resolve({ done: true, value: this.result });
      else {
        w.reject(this.failed.error);
        this.failed = undefined;
      }
    }
  }
}
