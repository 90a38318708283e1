import { ProtocolError } from "./errors.js";
import type { Limits } from "./scan.js";

const header = 4;
const firstBuffer = 64 << 10; // bytes that are allocated for a frame before they arrive

/**
 * Frames cuts a stream into the bodies of frames. What lies in a read as a whole is not
 * copied. The buffer of a frame that comes in parts grows as its bytes arrive.
 */
export class Frames {
  private kept = new Uint8Array(0); // the beginning of a frame
  private have = 0; // bytes of it
  private ended = false;

  constructor(
    private readonly limits: Limits,
    /** Takes the body of a frame. owned: the buffer is not used again. */
    private readonly take: (b: Uint8Array, start: number, end: number, owned: boolean) => void,
  ) {}

  /** Takes in n bytes. It throws a ProtocolError, and what take throws. */
  push(b: Uint8Array, n: number): void {
    let pos = 0;
    while (!this.ended) {
      if (this.have > 0) {
        pos = this.fill(b, pos, n);
        if (pos < 0) return;
        continue;
      }
      if (n - pos < header) break;
      const size = this.size(b, pos);
      if (n - pos - header < size) break;
      pos += header + size;
      this.take(b, pos - size, pos, false);
    }
    if (pos < n && !this.ended) this.keep(b, pos, n);
  }

  /** No more frames are taken. */
  stop(): void {
    this.ended = true;
  }

  /** The stream has ended. */
  finish(): void {
    if (this.have > 0) throw new ProtocolError(`truncated: the stream ended after ${this.have} bytes of a frame`);
  }

  private size(b: Uint8Array, pos: number): number {
    const n = (((b[pos] as number) << 24) | ((b[pos + 1] as number) << 16) | ((b[pos + 2] as number) << 8) | (b[pos + 3] as number)) >>> 0;
    if (n === 0) throw new ProtocolError("empty frame: length 0");
    if (n > this.limits.frame) throw new ProtocolError(`frame over the limit: ${n} bytes, limit ${this.limits.frame}`);
    return n;
  }

  private keep(b: Uint8Array, pos: number, n: number): void {
    // A wrong length is refused as soon as it is there.
    const whole = n - pos >= header ? header + this.size(b, pos) : header;
    this.kept = new Uint8Array(Math.max(Math.min(whole, firstBuffer), n - pos));
    this.kept.set(b.subarray(pos, n));
    this.have = n - pos;
  }

  /** Adds to the frame that is kept; returns the position behind it, or -1 if there is more to come. */
  private fill(b: Uint8Array, pos: number, n: number): number {
    if (this.have < header) {
      const more = Math.min(header - this.have, n - pos);
      this.grow(header);
      this.kept.set(b.subarray(pos, pos + more), this.have);
      this.have += more;
      pos += more;
      if (this.have < header) return -1;
    }
    const whole = header + this.size(this.kept, 0);
    const more = Math.min(whole - this.have, n - pos);
    if (this.have + more > this.kept.length) this.grow(Math.min(whole, Math.max(this.kept.length * 2, this.have + more, firstBuffer)));
    this.kept.set(b.subarray(pos, pos + more), this.have);
    this.have += more;
    if (this.have < whole) return -1;
    const body = this.kept;
    this.kept = new Uint8Array(0);
    this.have = 0;
    this.take(body, header, whole, true);
    return pos + more;
  }

  private grow(size: number): void {
    if (size <= this.kept.length) return;
    const larger = new Uint8Array(size);
    larger.set(this.kept.subarray(0, this.have));
    this.kept = larger;
  }
}
