// A supervisor by a script: what it says and expects is in the tests.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { decode, encode } from "@msgpack/msgpack";

export const Request = 0, Response = 1, Notification = 2, Ack = 3, Cancel = 4, Item = 5, Credit = 6;
export const all = ["ack", "cancel", "stream", "trace", "ping"];

/** A frame around bytes, or around a message. */
export function frame(message) {
  const body = message instanceof Uint8Array ? message : bytes(message);
  const out = Buffer.alloc(4 + body.length);
  out.writeUInt32BE(body.length);
  out.set(body, 4);
  return out;
}

function bytes(message) {
  try {
    return encode(message, { maxDepth: 2000 });
  } catch {
    return encode(message, { maxDepth: 2000, useBigInt64: true });
  }
}

/** Takes connections at a unix socket in a folder of its own. */
async function listen() {
  const dir = mkdtempSync(path.join(tmpdir(), "sdk-"));
  const addr = path.join(dir, "s");
  const server = net.createServer({ allowHalfOpen: true });
  await new Promise((resolve) => server.listen(addr, resolve));
  const token = randomBytes(32);
  const accepted = new Promise((resolve) => {
    server.once("connection", (socket) => {
      server.close();
      rmSync(dir, { recursive: true });
      resolve(socket);
    });
  });
  return { env: { HOSTSUP_HOST_ADDR: addr, HOSTSUP_HOST_TOKEN: token.toString("hex") }, accepted, token };
}

// What a test that failed has left would keep the runner from ending.
const peers = new Set();
after(() => {
  for (const p of peers) {
    p.output.destroy();
    p.child?.kill("SIGKILL");
  }
});

export class Peer {
  buffer = Buffer.alloc(0);
  messages = [];
  log = []; // all that was received
  waiters = [];
  last = 0;
  closed = false;
  stderr = "";
  stdout = "";

  constructor(input, output, token) {
    this.output = output;
    this.token = token;
    peers.add(this);
    input.on("data", (b) => this.take(b));
    input.on("end", () => this.close());
    input.on("close", () => this.close());
    for (const s of new Set([input, output])) s.on("error", () => this.close());
  }

  /** Serves a host of this process. */
  static async serve(host, capabilities = all, more = {}, first = undefined) {
    const { env, accepted, token } = await listen();
    Object.assign(process.env, env);
    const served = host.serve();
    served.catch(() => undefined);
    const socket = await accepted;
    const p = new Peer(socket, socket, token);
    p.served = served;
    if (first) first(p);
    else await p.open(capabilities, more);
    return p;
  }

  /** Starts a program as a host. */
  static async spawn(argv, transport, capabilities = all) {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const pipes = transport === "fd" ? ["ignore", "pipe", "pipe", "pipe"] : transport === "stdio" ? ["pipe", "pipe", "pipe"] : ["ignore", "pipe", "pipe"];
    const meeting = transport === "unix" ? await listen() : undefined;
    if (transport === "fd") env.HOSTSUP_HOST_FD = "3";
    Object.assign(env, meeting?.env);
    const child = spawn(process.execPath, argv, { env, stdio: pipes });
    const exit = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
    let p;
    if (transport === "stdio") p = new Peer(child.stdout, child.stdin);
    else if (transport === "fd") p = new Peer(child.stdio[3], child.stdio[3]);
    else {
      const socket = await meeting.accepted;
      p = new Peer(socket, socket, meeting.token);
    }
    p.child = child;
    p.exit = exit;
    child.stderr.on("data", (b) => (p.stderr += b));
    if (transport !== "stdio") child.stdout.on("data", (b) => (p.stdout += b));
    if (capabilities) await p.open(capabilities);
    return p;
  }

  async open(capabilities, more = {}) {
    const params = { protocol: 1, capabilities, supervisor: { name: "test", version: "0" }, host: { name: "h", life: 1 }, init: null, extensions: [], ...more };
    this.send([Request, ++this.last, "initialize", params]);
    this.hello = await this.answer(this.last);
    if (this.hello.error) return;
    this.send([Notification, "initialized", null]);
  }

  take(b) {
    this.buffer = Buffer.concat([this.buffer, b]);
    if (this.token) {
      if (this.buffer.length < 32) return;
      assert.deepEqual(this.buffer.subarray(0, 32), this.token);
      this.buffer = this.buffer.subarray(32);
      this.token = undefined;
    }
    while (this.buffer.length >= 4) {
      const n = this.buffer.readUInt32BE();
      if (this.buffer.length < 4 + n) return;
      const message = decode(this.buffer.subarray(4, 4 + n), { useBigInt64: this.bigs });
      this.buffer = this.buffer.subarray(4 + n);
      message.at = performance.now();
      this.messages.push(message);
      this.log.push(message);
      for (const w of this.waiters.splice(0)) w();
    }
  }

  close() {
    this.closed = true;
    for (const w of this.waiters.splice(0)) w();
  }

  send(...messages) {
    this.output.write(Buffer.concat(messages.map(frame)));
  }

  request(method, params, ...more) {
    return [Request, ++this.last, method, params ?? null, ...more];
  }

  /** The first message that fits; those before it stay. */
  async find(fits, what) {
    for (;;) {
      const i = this.messages.findIndex(fits);
      if (i >= 0) return this.messages.splice(i, 1)[0];
      assert.ok(!this.closed, `the host closed the connection, ${what} was expected; it printed: ${this.stderr}`);
      await new Promise((resolve) => this.waiters.push(resolve));
    }
  }

  expect(kind, id) {
    return this.find((m) => m[0] === kind && (id === undefined || m[1] === id), `kind ${kind} for ${id}`);
  }

  async answer(id) {
    const [, , error, result] = await this.expect(Response, id);
    this.messages = this.messages.filter((m) => !(m[0] === Ack && m[1] === id));
    return { error, result };
  }

  call(method, params) {
    const m = this.request(method, params);
    this.send(m);
    return this.answer(m[1]);
  }

  async ended() {
    while (!this.closed) await new Promise((resolve) => this.waiters.push(resolve));
  }

  /** The end as a supervisor has it: goodbye, the answer, the end of its half. */
  async goodbye() {
    const { error, result } = await this.call("shutdown");
    assert.deepEqual([error, result], [null, null]);
    this.output.end();
    await this.served;
    if (this.exit) return this.exit;
  }
}
