import type { Connection } from "./connection.js";
import { ErrorName, HostError, toWire } from "./errors.js";

/** What the supervisor says of itself and of this life of the host. */
export interface Hello {
  /** The supervising program. */
  supervisor: { name: string; version: string };
  /** The name that this host is configured under, and the number of this life, from 1. */
  host: { name: string; life: number };
  /** What the configuration hands to the host; undefined when there is nothing. */
  init: unknown;
  /** The capabilities in force. */
  capabilities: string[];
  /** The ids of the extensions that live in this process; undefined when the supervisor knows of none. */
  extensions: string[] | undefined;
}

/** handshake answers initialize. */
export function handshake(c: Connection, id: number, read: () => unknown): void {
  let hello: Hello;
  try {
    hello = opening(c, read);
  } catch (e) {
    refuse(c, id, e);
    return;
  }
  c.hello = hello;
  let openers: Promise<void> | undefined;
  try {
    openers = c.host.opening(hello);
  } catch (e) {
    refuse(c, id, e);
    return;
  }
  if (openers === undefined) {
    accept(c, id, hello);
    return;
  }
  if (hello.capabilities.includes("ack")) c.writer.ack(id);
  openers.then(
    () => accept(c, id, hello),
    (e) => refuse(c, id, e),
  );
}

function opening(c: Connection, read: () => unknown): Hello {
  let p: unknown;
  try {
    p = read();
  } catch (e) {
    throw new HostError(ErrorName.InvalidParams, `initialize cannot be read: ${e instanceof Error ? e.message : String(e)}`);
  }
  const m = map(p);
  if (m === undefined) throw new HostError(ErrorName.InvalidParams, "initialize: params: a map is expected");
  if (m["protocol"] !== 1) throw new HostError(ErrorName.VersionNotSupported, `protocol version ${String(m["protocol"])} is not supported, this host speaks 1`);
  const offered = new Set(Array.isArray(m["capabilities"]) ? (m["capabilities"] as unknown[]) : []);
  const capabilities = c.host.capabilities().filter((name) => offered.has(name));
  const supervisor = map(m["supervisor"]) ?? {};
  const host = map(m["host"]) ?? {};
  const extensions = m["extensions"];
  return {
    supervisor: { name: text(supervisor["name"]), version: text(supervisor["version"]) },
    host: { name: text(host["name"]), life: Number(host["life"] ?? 0) },
    init: m["init"] ?? undefined,
    capabilities,
    extensions: capabilities.includes("extensions") && Array.isArray(extensions) ? (extensions as string[]) : undefined,
  };
}

function map(v: unknown): Record<string, unknown> | undefined {
  return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : undefined;
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

function accept(c: Connection, id: number, hello: Hello): void {
  if (c.ending.over) return;
  const answer: Record<string, unknown> = { protocol: 1, name: c.host.info.name, version: c.host.info.version ?? "", capabilities: c.host.capabilities() };
  if (hello.capabilities.includes("extensions")) answer["extensions"] = c.host.announced();
  c.writer.result(id, answer);
  c.caps = new Set(hello.capabilities);
  c.phase = 2;
  c.soon();
}

function refuse(c: Connection, id: number, e: unknown): void {
  if (c.ending.over) return;
  const error = toWire(e);
  if (error.name === ErrorName.VersionNotSupported) delete error.stack;
  c.writer.error(id, error);
  c.writer.flush();
  c.ending.ended(e instanceof Error ? e : new Error(error.message));
}
