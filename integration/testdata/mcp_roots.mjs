// Agents of both public client SDKs of MCP tell their roots over HTTP, and have a server each
// that works there; those without roots share one, or are refused.
//
// usage: node mcp_roots.mjs MODULES HOSTSUP SOCKET URL TOKENFILE FOLDER FOLDER
//
// MODULES is the URL of the folder of modules of npm's. The hosts "at" and "any" have an
// instance for each root; "at" runs there. Fails with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, hostsup, socket, base, tokenFile, ...folders] = process.argv.slice(2);
const load = (path) => import(new URL(path, modules));
const { ListRootsRequestSchema } = await load('@modelcontextprotocol/sdk/dist/esm/types.js');
const sdks = {
  first: { ...await load('@modelcontextprotocol/sdk/dist/esm/client/index.js'), ...await load('@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js'), roots: ListRootsRequestSchema },
  second: { ...await load('@modelcontextprotocol/client/dist/index.mjs'), roots: 'roots/list' },
};
const headers = { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };
const hosts = () => JSON.parse(execFileSync(hostsup, ['--socket', socket, 'status', '--json'], { encoding: 'utf8' })).hosts;
const instances = (host) => hosts().filter((h) => h.name.startsWith(`${host}@`));

async function connect(sdk, host, roots) {
  const client = new sdk.Client({ name: 'agent', version: '1' }, { capabilities: roots ? { roots: {} } : {} });
  const got = { client, asked: 0 };
  if (roots) {
    client.setRequestHandler(sdk.roots, () => {
      got.asked++;
      return { roots: roots.map((f) => ({ uri: pathToFileURL(f).href })) };
    });
  }
  const transport = new sdk.StreamableHTTPClientTransport(new URL(`${base}/${host}/mcp`), { requestInit: { headers } });
  await client.connect(transport);
  assert.match(JSON.stringify(await client.listTools()), /sequentialthinking/);
  got.close = async () => { await transport.terminateSession(); await client.close(); };
  return got;
}

for (const sdk of Object.values(sdks)) {
  const all = [];
  for (const roots of [[folders[0], folders[1]], [folders[1]], [folders[1]]]) all.push(await connect(sdk, 'at', roots));
  assert.deepEqual(all.map((a) => a.asked), [1, 1, 1], 'each is asked for its roots once');
  assert.deepEqual(instances('at').map((h) => readlinkSync(`/proc/${h.pid}/cwd`)).sort(), [...folders].sort());
  await assert.rejects(connect(sdk, 'at', undefined), /the program has named none/);
  await assert.rejects(connect(sdk, 'at', []), /the program has named none/);
  const two = [await connect(sdk, 'any', undefined), await connect(sdk, 'any', [])];
  assert.equal(instances('any').length, 1, 'those without roots share an instance');
  await Promise.all([...all, ...two].map((a) => a.close()));
}
