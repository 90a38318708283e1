// Agents made with the second public client SDK of MCP. They reach servers of both
// generations by running `hostsup attach`.
//
// usage: node mcp_client_v2.mjs MODULES HOSTSUP SOCKET [URL TOKENFILE]
//
// With URL they reach them over HTTP, at URL/HOST/mcp.
//
// MODULES is the URL of the folder of modules of npm's. The hosts "both" and "new" are
// mcp_server_v2.mjs, the second one without the generation with the handshake, and "old"
// is a server of the first SDK. Fails with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [modules, hostsup, socket, base, tokenFile] = process.argv.slice(2);
const at = (path) => import(new URL(path, modules));
const { Client, StreamableHTTPClientTransport } = await at('@modelcontextprotocol/client/dist/index.mjs');
const { StdioClientTransport } = await at('@modelcontextprotocol/client/dist/stdio.mjs');
const newest = '2026-07-28';

const verb = (...args) => execFileSync(hostsup, ['--socket', socket, ...args], { encoding: 'utf8' });
const status = (host) => JSON.parse(verb('status', '--json')).hosts.find((h) => h.name === host);

function overHTTP(host) {
  const token = readFileSync(tokenFile, 'utf8').trim();
  return new StreamableHTTPClientTransport(new URL(`${base}/${host}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
}

// attach connects an agent; mode is how it finds the generation.
async function attach(host, mode, name = 'agent') {
  const changed = [];
  const errors = [];
  const client = new Client({ name, version: '1' }, {
    capabilities: {}, versionNegotiation: { mode }, listChanged: { tools: { onChanged: (err, tools) => changed.push(err ?? tools.length) } },
  });
  client.onerror = (err) => errors.push(err);
  const begun = Date.now();
  await client.connect(base ? overHTTP(host) : new StdioClientTransport({ command: hostsup, args: ['--socket', socket, 'attach', host], stderr: 'ignore' }), { timeout: 300_000 });
  return { client, changed, errors, took: Date.now() - begun, close: () => client.close() };
}

const call = async (a, name) => (await a.client.callTool({ name, arguments: {} })).content[0].text;

// again calls until it works, which is at once or after one error.
async function again(a, name) {
  try {
    return await call(a, name);
  } catch (err) {
    assert.match(err.message, /SIGKILL/);
    return await call(a, name);
  }
}

async function until(what, is) {
  for (const end = Date.now() + 60_000; !is(); await new Promise((r) => setTimeout(r, 10))) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
  }
}

// listens checks that news of a list arrive.
async function listens(a) {
  assert.deepEqual(a.errors, [], 'what the SDK could not make sense of');
  assert.ok(a.client.autoOpenedSubscription, 'it does not listen');
  const before = a.changed.length;
  await again(a, 'more');
  await until('news of the tools', () => a.changed.length > before);
}

// Both generations on both sides: the newest is spoken, and news arrive, at each of two
// agents and after a crash.
{
  const one = await attach('both', { pin: newest });
  assert.equal(one.client.getProtocolEra(), 'modern');
  assert.equal(await call(one, 'era'), 'modern');
  await listens(one);
  const two = await attach('both', 'auto');
  assert.equal(two.client.getProtocolEra(), 'modern');
  assert.equal(status('both').life, 1);
  await listens(two);
  await until('news at the first', () => one.changed.length === 2);
  process.kill(status('both').pid, 'SIGKILL');
  await until('the new server', () => status('both').life === 2 && status('both').state === 'running');
  await until('news of the new server', () => one.changed.length > 2 && two.changed.length > 1);
  assert.equal(await again(one, 'era'), 'modern');
  await listens(one);
  await listens(two);
  // Who has the handshake cannot join them, and is told why.
  await assert.rejects(attach('both', 'legacy'), /other clients/);
  await one.close();
  await two.close();
  // When they have left it can, and then the other way round.
  const old = await attach('both', 'legacy');
  assert.equal(await call(old, 'era'), 'legacy');
  await assert.rejects(attach('both', { pin: newest }), new RegExp(newest));
  const either = await attach('both', 'auto');
  assert.equal(either.client.getProtocolEra(), 'legacy');
  assert.equal(await call(either, 'era'), 'legacy');
  await call(old, 'more');
  await until('news', () => old.changed.length > 0 && either.changed.length > 0);
  await either.close();
  await old.close();
}

// A server of the newest generation alone.
{
  const one = await attach('new', { pin: newest });
  assert.equal(await call(one, 'era'), 'modern');
  await listens(one);
  await one.close();
  await assert.rejects(attach('new', 'legacy'), /knows no other|2026-07-28/);
}

// A server of the first SDK: one life serves an agent that asks for the newest first.
{
  const one = await attach('old', 'auto');
  assert.equal(one.client.getProtocolEra(), 'legacy');
  assert.ok((await one.client.listTools()).tools.length > 0);
  assert.equal(status('old').life, 1, 'lives for one agent');
  await one.close();
  await assert.rejects(attach('old', { pin: newest }), new RegExp(newest));
}
