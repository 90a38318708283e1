import * as fs from "node:fs";
import * as net from "node:net";
import { Readable } from "node:stream";
import { ConnectionError } from "./errors.js";

/** A connection to a supervisor: one socket, or one for each direction. */
export interface Wire {
  input: net.Socket;
  output: net.Socket;
  /** The descriptor of output, where that is known. */
  fd: number | undefined;
}

/** Called with what was read; it must be done with the buffer when it returns. */
export type OnBytes = (buffer: Uint8Array, n: number) => void;

const readBuffer = 64 << 10; // bytes of one read

/** The options that @types/node does not have for sockets that are open already. */
function receiving(onBytes: OnBytes) {
  return {
    allowHalfOpen: true,
    onread: {
      // No Buffer: the slice of one is a view of it.
      buffer: new Uint8Array(readBuffer),
      callback: (n: number, buffer: Uint8Array): boolean => {
        onBytes(buffer, n);
        return true;
      },
    },
  };
}

/**
 * open returns the connection that the environment names: an inherited socket
 * (HOSTSUP_HOST_FD), else a unix socket to connect to (HOSTSUP_HOST_ADDR, opened by
 * HOSTSUP_HOST_TOKEN), else standard input and output. The variables are removed, so
 * that the host's own children do not take them for theirs.
 *
 * When standard input and output are the connection, what the program prints by
 * console.log or process.stdout goes to standard error from then on, and process.stdin is
 * empty.
 */
export async function open(onBytes: OnBytes): Promise<Wire> {
  const { HOSTSUP_HOST_FD: fd, HOSTSUP_HOST_ADDR: addr, HOSTSUP_HOST_TOKEN: token } = process.env;
  delete process.env["HOSTSUP_HOST_FD"];
  delete process.env["HOSTSUP_HOST_ADDR"];
  delete process.env["HOSTSUP_HOST_TOKEN"];
  if (fd) return inherited(fd, onBytes);
  if (addr) return dial(addr, token ?? "", onBytes);
  return stdio(onBytes);
}

function inherited(text: string, onBytes: OnBytes): Wire {
  const fd = Number(text);
  if (!Number.isInteger(fd) || fd < 3) {
    throw new ConnectionError("NoTransport", `HOSTSUP_HOST_FD is ${JSON.stringify(text)}, want the number of a descriptor from 3`);
  }
  let stat: fs.Stats;
  try {
    stat = fs.fstatSync(fd);
  } catch (cause) {
    throw new ConnectionError("NoTransport", `HOSTSUP_HOST_FD names descriptor ${fd}, which is not open`, { cause });
  }
  if (!stat.isSocket()) throw new ConnectionError("NoTransport", `HOSTSUP_HOST_FD names descriptor ${fd}, which is not a socket`);
  const socket = new net.Socket({ fd, readable: true, writable: true, ...receiving(onBytes) });
  return { input: socket, output: socket, fd };
}

async function dial(path: string, token: string, onBytes: OnBytes): Promise<Wire> {
  if (!/^[0-9a-fA-F]{64}$/.test(token)) {
    throw new ConnectionError("NoTransport", "HOSTSUP_HOST_TOKEN is not 32 bytes in hex, which open the socket of HOSTSUP_HOST_ADDR");
  }
  const socket = net.connect({ path, ...receiving(onBytes) });
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error): void => {
      reject(new ConnectionError("NoTransport", `HOSTSUP_HOST_ADDR: ${cause.message}`, { cause }));
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.removeListener("error", fail);
      socket.write(Buffer.from(token, "hex"));
      resolve();
    });
  });
  return { input: socket, output: socket, fd: undefined };
}

function stdio(onBytes: OnBytes): Wire {
  for (const [fd, name] of [[0, "input"], [1, "output"]] as const) {
    let stat: fs.Stats | undefined;
    try {
      stat = fs.fstatSync(fd);
    } catch {
      // It is closed.
    }
    if (stat === undefined || !(stat.isFIFO() || stat.isSocket())) {
      throw new ConnectionError(
        "NoTransport",
        `HOSTSUP_HOST_FD and HOSTSUP_HOST_ADDR are not set, and standard ${name} is no pipe: this program is started by a supervisor`,
      );
    }
  }
  silence();
  const input = new net.Socket({ fd: 0, readable: true, writable: false, ...receiving(onBytes) });
  const output = new net.Socket({ fd: 1, readable: false, writable: true });
  return { input, output, fd: 1 };
}

/** silence keeps the program's own printing and reading away from descriptors 0 and 1. */
function silence(): void {
  // Whoever has taken process.stdout before, such as the console, has this same object.
  const { stdout, stderr } = process;
  const write = stderr.write.bind(stderr) as typeof stderr.write;
  stdout.write = write;
  stdout.end = function (this: typeof stdout, chunk?: unknown): typeof stdout {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) write(chunk);
    return this;
  } as typeof stdout.end;
  Object.defineProperty(process, "stdin", { configurable: true, enumerable: true, value: Readable.from([]) });
}
