import { Calls } from "./calls.js";
import { CancelledError, ConnectionError, ErrorName, HostError, ProtocolError, toWire } from "./errors.js";
import { Ending } from "./ending.js";
import { Frames } from "./frames.js";
import { handshake, type Hello } from "./handshake.js";
import type { HostParts } from "./host.js";
import { Notes } from "./notes.js";
import { OutgoingStream, isStream } from "./outgoing.js";
import { decode } from "./pack.js";
import { Request, State, type Registered } from "./request.js";
import { Scanner, type Limits } from "./scan.js";
import type { Wire } from "./transport.js";
import { Kind, Writer, type Trace } from "./writer.js";

/** A turn that has started handlers for so many milliseconds lets the loop go on. */
const slice = 5;

const arity = [4, 4, 3, 2, 2, 4, 3];
const kindName = ["request", "response", "notification", "ack", "cancel", "item", "credit"];
const capability = ["", "", "", "ack", "cancel", "stream", "stream"];

/** Connection is one connection in service. */
export class Connection {
  readonly writer: Writer;
  readonly calls: Calls;
  readonly ending: Ending;
  readonly limits: Limits;
  readonly notes: Notes;
  /** The capabilities in force. */
  caps = new Set<string>();
  hello: Hello | undefined = undefined;
  /** Why nothing can be sent any more. */
  lost: Error | undefined = undefined;
  /** 0: waits for initialize, 1: answers it, 2: waits for initialized, 3: open. */
  phase = 0;

  private readonly frames: Frames;
  private readonly scanner: Scanner;
  private readonly table = new Map<number, Request>();
  private lastId = 0; // the highest that the supervisor has used
  private fresh: Request[] = []; // of this turn, not acknowledged
  private queue: Request[] = []; // that wait for a handler
  private head = 0;
  private running = 0;
  private inTurn = false;
  private scheduled = false;
  private paused = false;

  constructor(
    readonly host: HostParts,
    private readonly wire: Wire,
  ) {
    this.limits = host.settings.limits;
    this.scanner = new Scanner(this.limits);
    this.frames = new Frames(this.limits, (b, start, end, owned) => this.message(b, start, end, owned));
    this.writer = new Writer(wire.output, wire.fd, this.limits, host.settings.outgoing, () => this.drained());
    this.calls = new Calls(this);
    this.notes = new Notes(this);
    this.ending = new Ending(this);
    wire.input.on("end", () => this.streamEnded(undefined));
    for (const socket of new Set([wire.input, wire.output])) {
      socket.on("error", (e) => this.streamEnded(e));
      socket.on("close", () => this.streamEnded(undefined));
    }
    wire.input.resume();
  }

  /** Requests of the supervisor that are not answered. */
  get open(): number {
    return this.table.size;
  }

  requests(): Iterable<Request> {
    return this.table.values();
  }

  /** Takes in what was read. */
  received(b: Uint8Array, n: number): void {
    if (this.ending.over) return;
    this.inTurn = true;
    try {
      this.frames.push(b, n);
    } catch (e) {
      this.broken(e);
    } finally {
      this.inTurn = false;
    }
    this.endTurn();
  }

  private broken(e: unknown): void {
    this.frames.stop();
    this.ending.ended(e instanceof Error ? e : new Error(String(e)));
  }

  private streamEnded(e: Error | undefined): void {
    if (this.ending.over) return;
    if (e === undefined) {
      try {
        this.frames.finish();
      } catch (broken) {
        this.broken(broken);
        return;
      }
    }
    this.ending.ended(new ConnectionError("PeerGone", "the supervisor closed the connection without a goodbye", e && { cause: e }));
  }

  /** Has what is collected written, at the end of the turn or soon. */
  soon(): void {
    if (!this.inTurn) this.writer.soon();
  }

  private message(b: Uint8Array, start: number, end: number, owned: boolean): void {
    try {
      this.take(b, start, end, owned);
    } catch (e) {
      if (e instanceof ProtocolError) e.bytes = Buffer.from(b.subarray(start, Math.min(end, start + 64))).toString("hex");
      throw e;
    }
  }

  private take(b: Uint8Array, start: number, end: number, owned: boolean): void {
    const s = this.scanner;
    s.reset(b, start, end);
    const n = s.array(start);
    const kind = n === 0 ? -1 : s.u32("kind", start);
    const want = arity[kind];
    if (want === undefined) throw new ProtocolError(`not a message of this protocol: kind ${kind}`);
    const traced = n === want + 1 && (kind === Kind.Request || kind === Kind.Notification) && this.caps.has("trace");
    if (n !== want && !traced) throw new ProtocolError(`not a message of this protocol: ${kindName[kind]} of ${n} elements, ${want} expected`);
    let id = 0;
    if (kind !== Kind.Notification) {
      id = s.u32("id", start);
      if (id === 0) throw new ProtocolError("not a message of this protocol: id 0, ids start at 1", s.pos - 1 - start);
    }
    if (kind >= Kind.Ack) {
      this.control(kind, id, start, end, owned);
      return;
    }
    if (kind === Kind.Response) {
      const error = this.value("error", start, owned);
      const result = this.value("result", start, owned);
      this.whole(start, end);
      if (this.phase < 3) throw this.early("response");
      const failure = error();
      if (failure !== null && failure !== undefined && b[s.pos - 1] !== 0xc0) {
        throw new ProtocolError("not a message of this protocol: a response with an error and a result");
      }
      this.calls.response(id, failure, result);
      return;
    }
    const method = this.method(start);
    const params = this.value("params", start, owned);
    const trace = traced ? this.trace(start) : undefined;
    this.whole(start, end);
    if (kind === Kind.Request) this.request(id, method, params, trace);
    else if (this.phase === 3) this.notes.push(method, params, trace);
    else if (this.phase === 2 && method === "initialized") this.opened();
    else throw this.early(`notification ${method}`);
  }

  private early(what: string): ProtocolError {
    return new ProtocolError(`message before the handshake: ${what}, ${["initialize", "nothing", "initialized"][this.phase] ?? ""} expected`);
  }

  private whole(start: number, end: number): void {
    if (this.scanner.pos !== end) throw new ProtocolError(`bytes after the value: ${end - this.scanner.pos}`, this.scanner.pos - start);
  }

  private method(start: number): string {
    const s = this.scanner;
    const at = s.pos;
    const n = s.str("method", 1024, start);
    if (n === 0) throw new ProtocolError("not a message of this protocol: the method is empty", at - start);
    const method = utf8(s.b, s.pos, s.pos + n);
    if (method === undefined) throw new ProtocolError("not a message of this protocol: the method is not UTF-8", at - start);
    s.pos += n;
    return method;
  }

  /** Walks over a value and returns how to decode it, which must be done before the turn ends. */
  private value(what: string, start: number, owned: boolean): () => unknown {
    const s = this.scanner;
    const from = s.pos;
    s.value(what, start);
    if (s.b[from] === 0xc0) return nothing;
    // Bin and ext are decoded as views, and the buffer is read into again.
    const body = s.views && !owned ? s.b.slice(from, s.pos) : s.b.subarray(from, s.pos);
    const { big } = s;
    return () => decode(body, big);
  }

  private trace(start: number): Trace | undefined {
    const s = this.scanner;
    const at = s.pos;
    const read = this.value("trace", start, false);
    let v: unknown;
    try {
      v = read();
    } catch {
      v = 0;
    }
    if (v === undefined) return undefined;
    if (typeof v !== "object" || v === null || Array.isArray(v)) throw new ProtocolError("not a message of this protocol: trace is no map", at - start);
    const out: Trace = {};
    for (const key of ["traceparent", "tracestate"] as const) {
      const field = (v as Record<string, unknown>)[key];
      if (field === undefined || field === null) continue;
      if (typeof field !== "string" || field.length > 1024) throw new ProtocolError(`not a message of this protocol: ${key} is no string of at most 1024 bytes`, at - start);
      out[key] = field;
    }
    return out;
  }

  private control(kind: number, id: number, start: number, end: number, owned: boolean): void {
    const s = this.scanner;
    const cap = capability[kind] as string;
    let n = 0;
    let value: () => unknown = nothing;
    if (kind === Kind.Item) {
      n = s.u32("seq", start);
      value = this.value("value", start, owned);
    } else if (kind === Kind.Credit) n = s.u32("credit", start);
    this.whole(start, end);
    if (this.phase < 3) throw this.early(kindName[kind] as string);
    if (!this.caps.has(cap)) throw new ProtocolError(`not a message of this protocol: ${kindName[kind]}: capability ${cap} is not in force`);
    const ours = kind === Kind.Ack || kind === Kind.Item;
    if (ours ? !this.calls.given(id) : id > this.lastId) throw new ProtocolError(`id never given: ${kindName[kind]} for request ${id}`);
    if (kind === Kind.Item) this.calls.item(id, n, value);
    if (ours) return;
    const r = this.table.get(id);
    if (r === undefined) return; // it is finished
    if (kind === Kind.Credit) {
      r.credit += n;
      r.credited = true;
      r.items?.wake();
      return;
    }
    const waits = r.state === State.Waiting;
    r.abort(new CancelledError());
    if (waits) this.fail(r, r.reason);
  }

  private opened(): void {
    this.phase = 3;
    this.host.opened(this);
  }

  private request(id: number, method: string, params: () => unknown, trace: Trace | undefined): void {
    if (this.phase !== 3) {
      if (this.phase !== 0 || method !== "initialize") throw this.early(`request ${method}`);
      this.lastId = id;
      this.phase = 1;
      handshake(this, id, params);
      return;
    }
    if (this.table.has(id)) throw new ProtocolError(`id never given: request ${id} is open already`);
    if (id > this.lastId) this.lastId = id;
    if (method === "$/ping") {
      this.writer.result(id, undefined);
      return;
    }
    const h = method === "shutdown" ? this.ending.goodbye : this.host.handler(method, this.caps.has("extensions"));
    if (this.ending.refusing && method !== "shutdown") {
      this.refuse(id, ErrorName.ShuttingDown, "the host is shutting down");
      return;
    }
    if (h === undefined) {
      this.refuse(id, ErrorName.MethodNotFound, `no method ${JSON.stringify(method)}`);
      return;
    }
    let value: unknown;
    try {
      value = params();
    } catch (e) {
      this.refuse(id, ErrorName.InvalidParams, `params cannot be read: ${e instanceof Error ? e.message : String(e)}`);
      return;
    }
    this.accept(new Request(this, id, method, value, trace, h), h);
  }

  private accept(r: Request, h: Registered): void {
    this.table.set(r.id, r);
    if (h.inline && (h.extension === undefined || h.extension.active)) {
      this.start(r);
      if ((r.state as State) !== State.Done) this.fresh.push(r); // it goes on by a promise
      return;
    }
    this.fresh.push(r);
    this.queue.push(r);
  }

  refuse(id: number, name: string, message: string): void {
    this.writer.error(id, { name, message });
    this.soon();
  }

  /**
   * Every request that is not answered is acknowledged, and that is written, before a
   * handler of it can keep the loop from turning.
   */
  private endTurn(): void {
    if (this.fresh.length > 0) {
      if (this.caps.has("ack")) for (const r of this.fresh) if (r.state !== State.Done) this.writer.ack(r.id);
      this.fresh.length = 0;
    }
    this.writer.flush();
    this.notes.run();
    if (this.head < this.queue.length) this.run();
    if (!this.paused && (this.writer.full || this.notes.full)) {
      this.paused = true;
      this.wire.input.pause();
    }
  }

  /** Goes on with what had to wait for the peer to read, or for notifications. */
  drained(): void {
    if (this.head < this.queue.length) this.run();
    if (this.paused && !this.writer.full && !this.notes.full) {
      this.paused = false;
      this.wire.input.resume();
    }
  }

  /** Starts handlers of requests that wait. */
  private run(): void {
    if (this.scheduled || this.inTurn) return;
    const { queue } = this;
    const began = performance.now();
    const before = this.running;
    this.inTurn = true;
    // Acknowledgements that the kernel had no room for have not left.
    while (this.head < queue.length && this.writer.through) {
      const r = queue[this.head] as Request;
      if (this.running >= this.host.settings.maxConcurrent && !r.handler.control) break;
      this.head++;
      if (r.state !== State.Waiting) continue;
      this.start(r);
      if (performance.now() - began > slice && this.head < queue.length) {
        this.scheduled = true;
        setImmediate(() => {
          this.scheduled = false;
          this.run();
        });
        break;
      }
    }
    this.inTurn = false;
    if (this.head === queue.length) {
      queue.length = this.head = 0;
    } else if (this.head > 1024) {
      queue.splice(0, this.head);
      this.head = 0;
    }
    // Handlers that end by promises that are fulfilled already answer in the same write.
    if (this.running > before && !this.scheduled) queueMicrotask(this.written);
    else this.writer.flush();
  }

  private readonly written = (): void => this.writer.soon();

  private start(r: Request): void {
    r.state = State.Running;
    this.running++;
    const { fn, extension } = r.handler;
    try {
      if (extension !== undefined && !extension.enter(r)) {
        this.settle(r, extension.need(r).then(() => fn(r.params, r)));
        return;
      }
      this.settle(r, fn(r.params, r));
    } catch (e) {
      this.fail(r, e);
    }
  }

  /** Takes what a handler has returned. */
  private settle(r: Request, v: unknown): void {
    if (typeof v !== "object" || v === null) {
      this.answer(r, v);
      return;
    }
    if (typeof (v as PromiseLike<unknown>).then === "function") {
      (v as PromiseLike<unknown>).then(
        (x) => {
          if (typeof x === "object" && x !== null && isStream(x)) this.pump(r, x);
          else this.answer(r, x);
        },
        (e) => this.fail(r, e),
      );
      return;
    }
    if (isStream(v)) this.pump(r, v);
    else this.answer(r, v);
  }

  private pump(r: Request, v: AsyncIterable<unknown> | Iterable<unknown>): void {
    r.items = new OutgoingStream(this, r);
    r.items.run(v).then(
      (last) => this.answer(r, last),
      (e) => this.fail(r, e),
    );
  }

  answer(r: Request, v: unknown): void {
    if (r.state === State.Done) return;
    if (r.cancelled) {
      this.fail(r, r.reason);
      return;
    }
    try {
      this.writer.result(r.id, v);
    } catch (e) {
      const name = e instanceof HostError ? e.name : ErrorName.InvalidResult;
      this.fail(r, new HostError(name, `the result of ${r.method}: ${e instanceof Error ? e.message : String(e)}`));
      return;
    }
    this.done(r);
  }

  fail(r: Request, thrown: unknown): void {
    if (r.state === State.Done) return;
    const e = toWire(r.cancelled ? r.reason : thrown);
    if (r.cancelled) delete e.stack;
    try {
      this.writer.error(r.id, e);
    } catch {
      // Its data cannot be sent, or it is too large.
      this.writer.error(r.id, { name: e.name.slice(0, 64), message: e.message.slice(0, 256), ...(e.code === undefined ? {} : { code: e.code }) });
    }
    this.done(r);
  }

  private done(r: Request): void {
    if (r.state === State.Running) this.running--;
    r.state = State.Done;
    this.table.delete(r.id);
    this.soon();
    r.after?.();
    if (!this.inTurn && this.head < this.queue.length) this.run();
    this.ending.check();
  }

  /** Nothing is sent or taken any more. */
  close(): void {
    this.frames.stop();
    this.writer.close();
    const { input, output } = this.wire;
    output.end(() => output.destroy());
    if (input !== output) input.destroy();
    else input.pause();
    setTimeout(() => {
      output.destroy();
      input.destroy();
    }, 200).unref();
  }
}

function nothing(): undefined {
  return undefined;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a method; undefined: it is not UTF-8. */
function utf8(b: Uint8Array, start: number, end: number): string | undefined {
  let out = "";
  for (let i = start; i < end; i++) {
    const c = b[i] as number;
    if (c >= 0x80) {
      try {
        return strict.decode(b.subarray(start, end));
      } catch {
        return undefined;
      }
    }
    out += String.fromCharCode(c);
  }
  return out;
}
