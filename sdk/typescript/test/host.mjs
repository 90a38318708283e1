// Hosts in the process of a test.
import { Host } from "@hostsup/host";
import { Peer } from "./peer.mjs";

export function newHost(options = {}) {
  return new Host({ name: "t", version: "1.2" }, { exit: false, signals: [], log: () => {}, ...options });
}

export async function withHost(t, register, options, capabilities) {
  const host = newHost(options);
  register(host);
  const p = await Peer.serve(host, capabilities);
  t.after(() => p.output.destroy());
  return { host, p };
}
