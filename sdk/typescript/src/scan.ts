import { ProtocolError } from "./errors.js";

/** What is accepted of a frame. */
export interface Limits {
  /** Bytes of a frame's body; default 50 MiB. */
  frame: number;
  /** Nesting of arrays and maps, the message's own included; default 128. */
  depth: number;
  /** Array elements, map keys and map values of a frame, summed; default 4,194,304. */
  elements: number;
}

export const defaultLimits: Limits = { frame: 50 << 20, depth: 128, elements: 4_194_304 };

/**
 * Scanner walks MessagePack without decoding it, so that what a frame claims is checked
 * before memory is allocated for it. One is used for all frames of a connection.
 */
export class Scanner {
  /** The frame; valid from reset on. */
  b: Uint8Array = new Uint8Array(0);
  pos = 0;
  end = 0;
  /** The value walked over last contains bin or ext, which are decoded as views of the buffer. */
  views = false;
  /** It contains an integer that a number cannot hold exactly. */
  big = false;
  private left = 0; // elements that may still come
  private readonly stack: Int32Array;

  constructor(private readonly limits: Limits) {
    this.stack = new Int32Array(limits.depth + 1);
  }

  reset(b: Uint8Array, pos: number, end: number): void {
    this.b = b;
    this.pos = pos;
    this.end = end;
    this.left = this.limits.elements;
  }

  fault(message: string, at: number, start: number): ProtocolError {
    return new ProtocolError(message, at - start);
  }

  /** Reads the header of the message's own array. */
  array(start: number): number {
    const t = this.b[this.pos++] as number;
    let n = -1;
    if (t >= 0x90 && t <= 0x9f) n = t & 15;
    else if (t === 0xdc) n = this.length(2, start);
    else if (t === 0xdd) n = this.length(4, start);
    if (n < 0) throw this.fault("not a message of this protocol: an array is expected", this.pos - 1, start);
    this.claim(n, start);
    return n;
  }

  private claim(n: number, start: number): void {
    this.left -= n;
    if (this.left < 0 || n > this.end - this.pos) {
      throw this.fault(`too many elements: ${n}, ${this.end - this.pos} bytes left, limit ${this.limits.elements} in all`, this.pos, start);
    }
  }

  /** Reads an unsigned integer of size bytes. */
  private length(size: number, start: number): number {
    const { b, pos } = this;
    if (pos + size > this.end) throw this.fault("truncated: the frame ends within a value", pos, start);
    this.pos += size;
    if (size === 1) return b[pos] as number;
    if (size === 2) return ((b[pos] as number) << 8) | (b[pos + 1] as number);
    return (((b[pos] as number) << 24) | ((b[pos + 1] as number) << 16) | ((b[pos + 2] as number) << 8) | (b[pos + 3] as number)) >>> 0;
  }

  /** Reads an integer from 0 to 2^32-1 of any width. */
  u32(what: string, start: number): number {
    if (this.pos >= this.end) throw this.fault(`truncated: ${what} is missing`, this.pos, start);
    const at = this.pos;
    const t = this.b[this.pos++] as number;
    let v = -1;
    if (t < 0x80) v = t;
    else if (t === 0xcc) v = this.length(1, start);
    else if (t === 0xcd) v = this.length(2, start);
    else if (t === 0xce) v = this.length(4, start);
    else if (t === 0xcf || t === 0xd3) v = this.length(4, start) === 0 ? this.length(4, start) : -1;
    else if (t === 0xd0) v = this.length(1, start) << 24 >> 24;
    else if (t === 0xd1) v = this.length(2, start) << 16 >> 16;
    else if (t === 0xd2) v = this.length(4, start) | 0;
    if (v < 0) throw this.fault(`not a message of this protocol: ${what} is no integer from 0 to 4294967295`, at, start);
    return v;
  }

  /** Reads the header of a string and returns how many bytes it has; pos is at the first. */
  str(what: string, max: number, start: number): number {
    if (this.pos >= this.end) throw this.fault(`truncated: ${what} is missing`, this.pos, start);
    const at = this.pos;
    const t = this.b[this.pos++] as number;
    let n = -1;
    if (t >= 0xa0 && t <= 0xbf) n = t & 31;
    else if (t === 0xd9) n = this.length(1, start);
    else if (t === 0xda) n = this.length(2, start);
    else if (t === 0xdb) n = this.length(4, start);
    if (n < 0) throw this.fault(`not a message of this protocol: ${what} is no string`, at, start);
    if (n > max) throw this.fault(`string too long: ${what} of ${n} bytes, limit ${max}`, at, start);
    if (n > this.end - this.pos) throw this.fault(`truncated: ${what} of ${n} bytes, ${this.end - this.pos} left`, at, start);
    return n;
  }

  /** Walks over one value; pos is behind it then. */
  value(what: string, start: number): void {
    const { b, end, stack } = this;
    this.views = this.big = false;
    let sp = 0;
    let todo = 1; // values that are still to come on this level
    let pos = this.pos;
    for (;;) {
      while (todo === 0) {
        if (sp === 0) {
          this.pos = pos;
          return;
        }
        todo = stack[--sp] as number;
      }
      todo--;
      if (pos >= end) throw this.fault(`truncated: ${what}: the frame ends within it`, pos, start);
      const t = b[pos++] as number;
      if (t < 0x80 || t >= 0xe0 || t === 0xc0 || t === 0xc2 || t === 0xc3) continue;
      let bytes = 0; // of the value behind its header
      let n = -1; // elements of a container
      if (t >= 0xa0 && t <= 0xbf) bytes = t & 31;
      else if (t <= 0x8f) n = (t & 15) << 1;
      else if (t <= 0x9f) n = t & 15;
      else if (t >= 0xcc && t <= 0xd3) {
        bytes = t === 0xcf || t === 0xd3 ? 8 : 1 << (t & 3);
        if (bytes === 8 && pos + 8 <= end) this.big = this.big || unsafe(b, pos, t === 0xd3);
      } else if (t === 0xca) bytes = 4;
      else if (t === 0xcb) bytes = 8;
      else if (t >= 0xd4 && t <= 0xd8) {
        bytes = 1 + (1 << (t - 0xd4));
        this.views = true;
      } else if (t === 0xc1) throw this.fault(`invalid type byte: ${what}: c1`, pos - 1, start);
      else {
        // What has a length of its own: str, bin and ext, arrays and maps.
        this.pos = pos;
        const size = t >= 0xdc ? 2 << (t & 1) : t >= 0xd9 ? 1 << (t - 0xd9) : 1 << (t >= 0xc7 ? t - 0xc7 : t - 0xc4);
        const len = this.length(size, start);
        pos = this.pos;
        if (t >= 0xde) n = len * 2;
        else if (t >= 0xdc) n = len;
        else {
          bytes = t >= 0xc7 && t <= 0xc9 ? len + 1 : len;
          this.views = this.views || t <= 0xc9;
        }
      }
      if (n < 0) {
        if (bytes > end - pos) throw this.fault(`truncated: ${what}: a value of ${bytes} bytes, ${end - pos} left`, pos, start);
        pos += bytes;
        continue;
      }
      // The message's own array is one level.
      if (sp + 2 > this.limits.depth) throw this.fault(`nested too deep: ${what}: limit ${this.limits.depth}`, pos, start);
      this.pos = pos;
      this.claim(n, start);
      stack[sp++] = todo;
      todo = n;
    }
  }
}

/** Whether the integer of 64 bits at pos is beyond what a number holds exactly. */
function unsafe(b: Uint8Array, pos: number, signed: boolean): boolean {
  const hi = (((b[pos] as number) << 24) | ((b[pos + 1] as number) << 16) | ((b[pos + 2] as number) << 8) | (b[pos + 3] as number)) >>> 0;
  if (signed && hi >= 0x80000000) return hi < 0xffe00000 || (hi === 0xffe00000 && b[pos + 4] === 0 && b[pos + 5] === 0 && b[pos + 6] === 0 && b[pos + 7] === 0);
  return hi > 0x1fffff;
}
