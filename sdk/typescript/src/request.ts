import type { Connection } from "./connection.js";
import { CancelledError } from "./errors.js";
import type { Extension } from "./extension.js";
import type { OutgoingStream } from "./outgoing.js";
import type { Trace } from "./writer.js";

/** How a call ends early. */
export interface CallOptions {
  /** When it aborts, the supervisor is told and the call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Instead of the trace context of the request that is being handled. */
  trace?: Trace | undefined;
}

/** What a handler of a request is given besides the params. */
export interface Context {
  /** The id of the request. It is good for log lines and nothing else. */
  readonly id: number;
  readonly method: string;
  /**
   * It aborts when the caller cancels (the reason is a CancelledError), when the time of an
   * extension or of the host is over, and when the connection ends. The answer of a request
   * that was cancelled is `Cancelled`, whatever the handler returns.
   */
  readonly signal: AbortSignal;
  /** The trace context that came with the request. */
  readonly trace: Trace | undefined;
  /** Host.call with the trace of this request; it ends with the signal of this request. */
  call<R = unknown>(method: string, params?: unknown, options?: CallOptions): Promise<R>;
  /** Host.stream, likewise. */
  stream<R = unknown>(method: string, params?: unknown, options?: CallOptions): AsyncIterableIterator<R>;
  /** Host.notify with the trace of this request. */
  notify(method: string, params?: unknown): Promise<void>;
  /** Sends the notification `$/progress` with `{id, method, value}` of this request. */
  progress(value: unknown): Promise<void>;
}

/** A function that answers requests: with a value, a promise of one, or a generator of items. */
export type Handler<P, R> = (params: P, ctx: Context) => R;

/** A handler as it is registered. */
export interface Registered {
  fn: Handler<unknown, unknown>;
  inline: boolean;
  extension: Extension | undefined;
  /** Belongs to the protocol: no limit of handlers keeps it waiting. */
  control: boolean;
}

export const enum State {
  Waiting,
  Running,
  Done,
}

/** Request is one request of the supervisor, and the context of its handler. */
export class Request implements Context {
  state = State.Waiting;
  /** Why it is to end early. */
  reason: unknown = undefined;
  /** Credit that no item has used; credited: some has come. */
  credit = 0;
  credited = false;
  items: OutgoingStream | undefined = undefined;
  /** Called when it is answered. */
  after: (() => void) | undefined = undefined;
  private controller: AbortController | undefined = undefined;

  constructor(
    private readonly conn: Connection,
    readonly id: number,
    readonly method: string,
    readonly params: unknown,
    readonly trace: Trace | undefined,
    readonly handler: Registered,
  ) {}

  // Made only for handlers that look at it: it takes longer than an echo.
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.reason !== undefined) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  get cancelled(): boolean {
    return this.reason instanceof CancelledError;
  }

  abort(reason: unknown): void {
    if (this.reason !== undefined || this.state === State.Done) return;
    this.reason = reason;
    this.controller?.abort(reason);
    this.items?.wake();
  }

  call<R>(method: string, params?: unknown, options?: CallOptions): Promise<R> {
    return this.conn.calls.call(method, params, this.within(options)) as Promise<R>;
  }

  stream<R>(method: string, params?: unknown, options?: CallOptions): AsyncIterableIterator<R> {
    return this.conn.calls.stream(method, params, this.within(options)) as AsyncIterableIterator<R>;
  }

  notify(method: string, params?: unknown): Promise<void> {
    return this.conn.calls.notify(method, params, this.trace);
  }

  progress(value: unknown): Promise<void> {
    return this.conn.calls.notify("$/progress", { id: this.id, method: this.method, value }, this.trace);
  }

  private within(options: CallOptions | undefined): CallOptions {
    return { signal: options?.signal ?? this.signal, trace: options?.trace ?? this.trace };
  }
}
