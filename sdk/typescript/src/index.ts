/**
 * What a program imports to be a host of hostsup.
 *
 *     const host = new Host({ name: "greeter", version: "1.0" });
 *     host.handle("greet", async (name: string) => `hello ${name}`);
 *     await host.serve();
 */
export { Host, type HandleOptions, type HostOptions, type Info, type Log } from "./host.js";
export { Activation, Extension, type Manifest } from "./extension.js";
export type { Hello } from "./handshake.js";
export type { NoteContext } from "./notes.js";
export type { CallOptions, Context, Handler } from "./request.js";
export type { Limits } from "./scan.js";
export type { Trace } from "./writer.js";
export {
  CancelledError, ConnectionError, ErrorName, HostError, ProtocolError, UsageError, type ConnectionReason, type HostErrorOptions,
} from "./errors.js";
