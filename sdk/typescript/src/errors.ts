/** What a {@link HostError} carries besides its name and message. */
export interface HostErrorOptions {
  /** An integer, such as the codes of JSON-RPC. */
  code?: number | undefined;
  /** Any value that can be sent. */
  data?: unknown;
  cause?: unknown;
  /** The stack of the other side, as it was received. */
  remoteStack?: string | undefined;
}

/**
 * HostError is an error as one side answers it to the other: `name` is a class to
 * branch on, `message` is for people. A handler that throws one is answered with
 * exactly its fields; a call that the supervisor answers with an error rejects with one.
 */
export class HostError extends Error {
  /** The integer that came with the error; undefined when there was none. */
  readonly code: number | undefined;
  /** The value that came with the error; undefined when there was none. */
  readonly data: unknown;
  /** The stack of the other side; undefined for an error that was made here. */
  readonly remoteStack: string | undefined;

  constructor(name: string, message: string, options: HostErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, "name", { value: name, configurable: true, writable: true, enumerable: false });
    this.code = options.code;
    this.data = options.data;
    this.remoteStack = options.remoteStack;
  }
}

/** Names of errors that have a meaning in the protocol or in this package. */
export const ErrorName = {
  MethodNotFound: "MethodNotFound",
  InvalidParams: "InvalidParams",
  /** The result of a handler cannot be encoded. */
  InvalidResult: "InvalidResult",
  /** A message would exceed the limit of a frame. */
  TooLarge: "TooLarge",
  Cancelled: "Cancelled",
  NotActive: "NotActive",
  ShuttingDown: "ShuttingDown",
  VersionNotSupported: "VersionNotSupported",
  /** The supervisor has too many requests of this host open. */
  Overloaded: "Overloaded",
} as const;

/** CancelledError is why a signal is aborted when the caller cancels the request. */
export class CancelledError extends HostError {
  constructor(message = "cancelled by the caller") {
    super(ErrorName.Cancelled, message);
  }
}

/** UsageError means that the program uses this package wrongly: the message says how. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Why a connection is over, or could not be opened; the `reason` of a {@link ConnectionError}. */
export type ConnectionReason = "PeerGone" | "ShuttingDown" | "Closed" | "Stuck" | "NoTransport";

/** ConnectionError means that a call or the host itself ended with the connection. */
export class ConnectionError extends Error {
  override readonly name: string;
  /**
   * `PeerGone`: the supervisor closed without a goodbye. `ShuttingDown`: this host ends.
   * `Closed`: the connection has ended. `Stuck`: handlers did not return when their time
   * was over. `NoTransport`: nothing names a connection to a supervisor.
   */
  readonly reason: ConnectionReason;

  constructor(reason: ConnectionReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = reason;
    this.reason = reason;
  }
}

/** ProtocolError means that the supervisor broke the protocol; it ends the connection. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** The byte of the frame's body where the fault is; -1 when it has no place. */
  readonly offset: number;
  /** The first 64 bytes of the frame, in hex; set when the frame is known. */
  bytes = "";

  constructor(message: string, offset = -1) {
    super(offset < 0 ? message : `${message} at byte ${offset}`);
    this.offset = offset;
  }
}

/** An error as it is written into a message. */
export interface WireError {
  name: string;
  message: string;
  code?: number;
  stack?: string;
  data?: unknown;
  cause?: WireError;
}

const maxCauses = 16;
const maxName = 256;
const maxText = 16 << 10;

/**
 * toWire makes what is answered from whatever a handler has thrown, also from what is no
 * error at all. It never throws.
 */
export function toWire(thrown: unknown): WireError {
  try {
    return chain(thrown, maxCauses);
  } catch (e) {
    // A getter of the thrown value throws by itself.
    return { name: "Error", message: `an error was thrown that cannot be read: ${String(e instanceof Error ? e.message : typeof e)}` };
  }
}

function chain(thrown: unknown, left: number): WireError {
  if (!(thrown instanceof Error)) {
    return isErrorLike(thrown) ? fromParts(thrown, left) : { name: "Error", message: describe(thrown) };
  }
  return fromParts(thrown, left);
}

interface Parts {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  stack?: unknown;
  data?: unknown;
  cause?: unknown;
  remoteStack?: unknown;
  errors?: unknown;
}

/** Errors of another realm (worker, vm) are no instances of this one's Error. */
function isErrorLike(v: unknown): v is Parts {
  return typeof v === "object" && v !== null && typeof (v as Parts).message === "string" && typeof (v as Parts).name === "string";
}

function fromParts(e: Parts, left: number): WireError {
  let name = typeof e.name === "string" && e.name !== "" ? e.name : "Error";
  if (name === "Error" && !Object.prototype.hasOwnProperty.call(e, "name")) {
    // class NotReady extends Error {} has the name of its class.
    const made = (e as object).constructor?.name;
    name = made !== undefined && made !== "Object" && made !== "" ? made : name;
  }
  const out: WireError = { name: name.slice(0, maxName), message: (typeof e.message === "string" ? e.message : describe(e.message)).slice(0, maxText) };
  const stack = e.remoteStack ?? e.stack;
  if (typeof stack === "string" && stack !== "") out.stack = stack.slice(0, maxText);
  if (e.data !== undefined) out.data = e.data;
  if (typeof e.code === "number" && Number.isSafeInteger(e.code)) out.code = e.code;
  else if (typeof e.code === "string" && out.data === undefined) out.data = { code: e.code };
  // The wire has room for one chain: of several errors it has the first.
  const cause = e.cause ?? (Array.isArray(e.errors) ? (e.errors as unknown[])[0] : undefined);
  if (cause !== undefined && cause !== null && left > 1) out.cause = chain(cause, left - 1);
  return out;
}

function describe(v: unknown): string {
  if (typeof v === "string") return v.slice(0, maxText);
  if (v === undefined || v === null) return `${String(v)} was thrown`;
  if (typeof v === "object") {
    try {
      return (JSON.stringify(v) ?? String(v)).slice(0, maxText);
    } catch {
      return Object.prototype.toString.call(v);
    }
  }
  return String(v).slice(0, maxText);
}

/** fromWire reads an error of the supervisor. It is lenient: an error that is lost explains nothing. */
export function fromWire(v: unknown, left = maxCauses): HostError {
  if (typeof v === "string") return new HostError("", v);
  if (Array.isArray(v) && v.length === 2 && Number.isInteger(v[0]) && typeof v[1] === "string") {
    return new HostError("", v[1], { code: v[0] as number });
  }
  if (typeof v !== "object" || v === null || Array.isArray(v) || v instanceof Uint8Array) return new HostError("", describe(v));
  const m = v as Record<string, unknown>;
  const cause = m["cause"];
  return new HostError(text(m["name"]), text(m["message"]), {
    code: typeof m["code"] === "number" && Number.isInteger(m["code"]) ? m["code"] : undefined,
    data: m["data"] ?? undefined,
    remoteStack: typeof m["stack"] === "string" && m["stack"] !== "" ? m["stack"] : undefined,
    cause: cause !== undefined && cause !== null && left > 1 ? fromWire(cause, left - 1) : undefined,
  });
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}
