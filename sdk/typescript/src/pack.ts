import { Scanner, defaultLimits } from "./scan.js";
import { Decoder, Encoder, ExtData, ExtensionCodec, decodeTimestampToTimeSpec, encodeDateToTimeSpec, encodeTimeSpecToTimestamp } from "@msgpack/msgpack";

const timestamp = -1; // MessagePack's own type of ext

/**
 * What is no value of MessagePack is refused. The library would write a Map or a Promise
 * as an empty map, without a word.
 */
class Codec extends ExtensionCodec<undefined> {
  override tryToEncode(v: unknown, _context: undefined): ExtData | null {
    if (Array.isArray(v)) return null;
    if (typeof v !== "object" || v === null) throw unsendable(v);
    const proto: unknown = Object.getPrototypeOf(v);
    if (proto === Object.prototype || proto === null || ArrayBuffer.isView(v)) return null;
    if (v instanceof ExtData) return v;
    if (v instanceof Date) {
      if (Number.isNaN(v.getTime())) throw new TypeError("an invalid Date cannot be sent");
      return new ExtData(timestamp, encodeTimeSpecToTimestamp(encodeDateToTimeSpec(v)));
    }
    if (Object.prototype.toString.call(v) !== "[object Object]") throw unsendable(v);
    return null;
  }

  /** A timestamp becomes a Date if that holds it exactly; all other ext stay as they are. */
  override decode(data: Uint8Array, type: number, _context: undefined): unknown {
    if (type === timestamp && (data.length === 4 || data.length === 8 || data.length === 12)) {
      const { sec, nsec } = decodeTimestampToTimeSpec(data);
      const ms = sec * 1e3 + nsec / 1e6;
      if (Number.isInteger(ms) && Math.abs(ms) <= 8.64e15) return new Date(ms);
    }
    return new ExtData(type, data);
  }
}

function unsendable(v: unknown): TypeError {
  const what = typeof v === "object" && v !== null ? (v.constructor?.name ?? "an object") : typeof v;
  return new TypeError(`a value of type ${what} cannot be sent; null, booleans, numbers, bigints of 64 bits, strings, Uint8Array, Date, arrays and plain objects can`);
}

const extensionCodec = new Codec();

// One level less than a receiver allows, because of the message's own array.
const maxDepth = 127;
const options = { extensionCodec, ignoreUndefined: true, maxDepth, context: undefined };
const keptBuffer = 1 << 20; // bytes of an encoder that is used again

let encoder = new Encoder<undefined>(options);
const exact = new Encoder<undefined>({ ...options, useBigInt64: true });

const decoder = new Decoder<undefined>({ extensionCodec });
const bigDecoder = new Decoder<undefined>({ extensionCodec, useBigInt64: true });

/**
 * encode returns the bytes of a value, in a buffer that the next call uses again. It throws
 * a TypeError or RangeError for what cannot be sent.
 */
export function encode(v: unknown): Uint8Array {
  let out: Uint8Array;
  try {
    out = encoder.encodeSharedRef(v);
  } catch (e) {
    if (tooDeep(e)) return deepest(v);
    if (!hasBigInt(v, 0)) throw e;
    return exact.encode(withBigInts(v, 0));
  }
  // The buffer of an encoder grows and does not shrink.
  if (out.length > keptBuffer) encoder = new Encoder<undefined>(options);
  return out;
}

function tooDeep(e: unknown): boolean {
  return e instanceof Error && e.message.startsWith("Too deep");
}

/** The library counts what is in the innermost array as a level, and an empty array not less. */
function deepest(v: unknown): Uint8Array {
  try {
    const out = new Encoder<undefined>({ ...options, maxDepth: maxDepth + 1 }).encode(v);
    const scanner = new Scanner(defaultLimits);
    scanner.reset(out, 0, out.length);
    scanner.value("value", 0);
    return out;
  } catch {
    throw new RangeError(`the value is nested deeper than ${maxDepth} levels, or contains itself`);
  }
}

function hasBigInt(v: unknown, depth: number): boolean {
  if (typeof v === "bigint") return true;
  if (typeof v !== "object" || v === null || ArrayBuffer.isView(v) || depth > maxDepth) return false;
  return Array.isArray(v) ? v.some((x) => hasBigInt(x, depth + 1)) : Object.values(v).some((x) => hasBigInt(x, depth + 1));
}

const plain = new Set<unknown>([Object.prototype, null]);

/**
 * withBigInts prepares a value for the encoder that knows bigints: that one writes numbers of
 * more than 32 bits as floats, so these become bigints too.
 */
function withBigInts(v: unknown, depth: number): unknown {
  if (typeof v === "number") return Number.isSafeInteger(v) && Math.abs(v) > 0x7fffffff ? BigInt(v) : v;
  if (typeof v === "bigint") {
    if (v >= 2n ** 64n || v < -(2n ** 63n)) throw new RangeError(`the bigint ${v} has more than 64 bits`);
    return v;
  }
  if (typeof v !== "object" || v === null || depth > maxDepth) return v;
  if (Array.isArray(v)) return v.map((x) => withBigInts(x, depth + 1));
  if (!plain.has(Object.getPrototypeOf(v))) return v;
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, withBigInts(x, depth + 1)]));
}

/** decode returns the value of bytes that a Scanner has walked over; big is the Scanner's. */
export function decode(b: Uint8Array, big: boolean): unknown {
  return big ? narrow(bigDecoder.decode(b)) : decoder.decode(b);
}

/** Integers that a number holds exactly are numbers, however wide they were written. */
function narrow(v: unknown): unknown {
  if (typeof v === "bigint") return v >= BigInt(Number.MIN_SAFE_INTEGER) && v <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : v;
  if (Array.isArray(v)) return v.map(narrow);
  if (typeof v === "object" && v !== null && plain.has(Object.getPrototypeOf(v))) {
    for (const [k, x] of Object.entries(v)) (v as Record<string, unknown>)[k] = narrow(x);
  }
  return v;
}
