import { writeSync } from "node:fs";
import type { Socket } from "node:net";
import { encode } from "./pack.js";
import { HostError, ErrorName } from "./errors.js";
import type { Limits } from "./scan.js";
import { Scanner } from "./scan.js";

const firstBuffer = 16 << 10;
const keptBuffer = 256 << 10; // bytes of a buffer that is used again

export const Kind = { Request: 0, Response: 1, Notification: 2, Ack: 3, Cancel: 4, Item: 5, Credit: 6 } as const;

/** The trace context of a message, as in W3C Trace Context. */
export interface Trace {
  traceparent?: string;
  tracestate?: string;
}

/**
 * Writer collects the messages of a turn and writes them at once. A message that cannot
 * be encoded throws and leaves nothing behind.
 */
export class Writer {
  private buf = Buffer.allocUnsafeSlow(firstBuffer);
  private pos = 0;
  private room: (() => void)[] = []; // called when few bytes wait
  private closed = false;
  private ticking = false;
  private readonly tick = (): void => {
    this.ticking = false;
    this.flush();
  };

  constructor(
    private readonly socket: Socket,
    /** The descriptor of the socket, where that is known. */
    private readonly fd: number | undefined,
    private readonly limits: Limits,
    /** Bytes that may wait for the peer. */
    private readonly limit: number,
    /** Called when bytes that the kernel had no room for have left. */
    private readonly onDrain: () => void,
  ) {}

  /** The bytes that the kernel has not taken. */
  get waiting(): number {
    return this.pos + this.socket.writableLength;
  }

  /** Whether everything that was flushed is in the kernel. */
  get through(): boolean {
    return this.socket.writableLength === 0;
  }

  get full(): boolean {
    return this.waiting > this.limit;
  }

  get empty(): boolean {
    return this.pos === 0;
  }

  ack(id: number): void {
    this.small(0x92, Kind.Ack, id);
  }

  cancel(id: number): void {
    this.small(0x92, Kind.Cancel, id);
  }

  credit(id: number, n: number): void {
    this.small(0x93, Kind.Credit, id, n);
  }

  item(id: number, seq: number, value: unknown): void {
    this.message(0x94, Kind.Item, id, seq, undefined, value);
  }

  request(id: number, method: string, params: unknown, trace: Trace | undefined): void {
    this.message(trace ? 0x95 : 0x94, Kind.Request, id, -1, method, params, trace);
  }

  notification(method: string, params: unknown, trace: Trace | undefined): void {
    this.message(trace ? 0x94 : 0x93, Kind.Notification, -1, -1, method, params, trace);
  }

  result(id: number, value: unknown): void {
    this.message(0x94, Kind.Response, id, -2, undefined, value);
  }

  error(id: number, error: unknown): void {
    const body = encode(error);
    const start = this.begin(body.length + 16);
    this.buf[this.pos++] = 0x94;
    this.buf[this.pos++] = Kind.Response;
    this.uint(id);
    this.append(body, start);
    this.buf[this.pos++] = 0xc0;
    this.end(start);
  }

  private small(array: number, kind: number, id: number, n = -1): void {
    const start = this.begin(16);
    this.buf[this.pos++] = array;
    this.buf[this.pos++] = kind;
    this.uint(id);
    if (n >= 0) this.uint(n);
    this.end(start);
  }

  /** seq: the number of an item, -1 for no such field, -2 for the nil of no error. */
  private message(array: number, kind: number, id: number, seq: number, method: string | undefined, value: unknown, trace?: Trace): void {
    const body = encode(value);
    if (body.length >= this.limits.elements) this.check(body);
    const start = this.begin(body.length + 32 + (method === undefined ? 0 : method.length * 3));
    this.buf[this.pos++] = array;
    this.buf[this.pos++] = kind;
    if (id >= 0) this.uint(id);
    if (seq >= 0) this.uint(seq);
    else if (seq === -2) this.buf[this.pos++] = 0xc0;
    if (method !== undefined) this.method(method, start);
    this.append(body, start);
    if (trace) {
      const more = encode(trace);
      this.reserve(more.length);
      this.append(more, start);
    }
    this.end(start);
  }

  private method(method: string, start: number): void {
    const n = this.buf.write(method, this.pos + 3, "utf8");
    if (n === 0 || n > 1024) {
      this.pos = start;
      throw new HostError(ErrorName.InvalidParams, `a method is a string of 1 to 1024 bytes, this one has ${n}`);
    }
    if (n < 32) {
      this.buf[this.pos++] = 0xa0 | n;
      this.buf.copyWithin(this.pos, this.pos + 2, this.pos + 2 + n);
    } else {
      this.buf[this.pos++] = 0xda;
      this.buf.writeUInt16BE(n, this.pos);
      this.pos += 2;
    }
    this.pos += n;
  }

  /** What could have more elements than a receiver takes is counted. */
  private check(body: Uint8Array): void {
    const scanner = new Scanner(this.limits);
    scanner.reset(body, 0, body.length);
    try {
      scanner.value("value", 0);
    } catch (cause) {
      throw new HostError(ErrorName.TooLarge, cause instanceof Error ? cause.message : String(cause));
    }
  }

  private begin(size: number): number {
    this.reserve(size + 4);
    const start = this.pos;
    this.pos += 4;
    return start;
  }

  private reserve(size: number): void {
    if (this.pos + size <= this.buf.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buf.length * 2, this.pos + size));
    this.buf.copy(larger, 0, 0, this.pos);
    this.buf = larger;
  }

  private uint(v: number): void {
    const { buf } = this;
    if (v < 0x80) buf[this.pos++] = v;
    else if (v < 0x10000) {
      buf[this.pos] = 0xcd;
      buf.writeUInt16BE(v, this.pos + 1);
      this.pos += 3;
    } else {
      buf[this.pos] = 0xce;
      buf.writeUInt32BE(v, this.pos + 1);
      this.pos += 5;
    }
  }

  private append(body: Uint8Array, start: number): void {
    if (body.length > this.limits.frame) {
      this.pos = start;
      throw new HostError(ErrorName.TooLarge, `a message of more than ${body.length} bytes, limit ${this.limits.frame}`);
    }
    this.buf.set(body, this.pos);
    this.pos += body.length;
  }

  private end(start: number): void {
    const size = this.pos - start - 4;
    if (size > this.limits.frame) {
      this.pos = start;
      throw new HostError(ErrorName.TooLarge, `a message of ${size} bytes, limit ${this.limits.frame}`);
    }
    this.buf.writeUInt32BE(size, start);
    if (this.pos >= keptBuffer) this.flush();
  }

  /** Has what is collected written when the callbacks and promises that are due have run. */
  soon(): void {
    if (this.ticking || this.pos === 0) return;
    this.ticking = true;
    process.nextTick(this.tick);
  }

  /**
   * Writes what is collected: into the kernel before it returns, if that has room and
   * nothing waits for it already. See through.
   */
  flush(): void {
    if (this.pos === 0) return;
    const { buf, pos, socket } = this;
    this.pos = 0;
    if (this.closed) return;
    const written = this.direct(buf, pos);
    if (written < pos) socket.write(buf.subarray(written, pos), this.wrote);
    // What the kernel has taken may be written over. The rest is kept by the socket.
    if (socket.writableLength > 0 || buf.length > keptBuffer) this.buf = Buffer.allocUnsafeSlow(firstBuffer);
  }

  /**
   * Writes past the stream of the socket, whose own work takes longer than the system call,
   * and returns how many bytes the kernel took. What it had no room for, and errors, are left
   * to the socket.
   */
  private direct(buf: Uint8Array, n: number): number {
    const { socket, fd } = this;
    if (fd === undefined || socket.destroyed || socket.writableEnded || socket.writableLength > 0) return 0;
    try {
      return writeSync(fd, buf, 0, n);
    } catch {
      return 0;
    }
  }

  private readonly wrote = (): void => {
    if (this.socket.writableLength > 0) return;
    this.onDrain();
    this.release();
  };

  private release(): void {
    if (this.room.length === 0 || (this.full && !this.closed)) return;
    const waiting = this.room;
    this.room = [];
    for (const f of waiting) f();
  }

  /** Resolves when fewer bytes than the limit wait, or the connection has ended. */
  space(): Promise<void> | undefined {
    if (!this.full || this.closed) return undefined;
    this.flush();
    if (!this.full) return undefined;
    return new Promise((resolve) => this.room.push(resolve));
  }

  /** Resolves when everything is in the kernel, after ms, or at the end of the connection. */
  settled(ms: number): Promise<void> {
    this.flush();
    if (this.through || this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.socket.write(Buffer.alloc(0), done);
    });
  }

  /** Nothing is written any more. */
  close(): void {
    this.closed = true;
    this.pos = 0;
    this.release();
  }
}
