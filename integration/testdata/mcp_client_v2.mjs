// Agents made with the second public client SDK of MCP. They reach servers of both
// generations by running `hostsup attach`.
//
// usage: node mcp_client_v2.mjs MODULES HOSTSUP SOCKET [URL TOKENFILE]
//
// With URL they reach them over HTTP, at URL/HOST/mcp.
//
// MODULES is the URL of the folder of modules of npm's. The hosts "both", "turn" and "new"
// are mcp_server_v2.mjs, the last one without the generation with the handshake, and "old"
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
// hosts returns the names of a host's processes.
const hosts = (host) => JSON.parse(verb('status', '--json')).hosts.map((h) => h.name).filter((name) => name.split('@')[0] === host).sort();

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

// listens checks that an agent listens, and that news of a list arrive.
async function listens(a) {
  assert.ok(a.client.autoOpenedSubscription, 'it does not listen');
  await news(a);
}

async function news(a) {
  assert.deepEqual(a.errors, [], 'what the SDK could not make sense of');
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
  // Who has the handshake gets another process, of which these two notice nothing.
  const tools = async () => (await one.client.listTools()).tools.length;
  const before = await tools();
  const old = await attach('both', 'legacy');
  const older = await attach('both', 'legacy');
  assert.equal(await call(old, 'era'), 'legacy');
  await news(old);
  await until('news at the other', () => older.changed.length === 1);
  const lost = assert.rejects(call(old, 'never'), /SIGKILL/);
  assert.equal(await call(older, 'era'), 'legacy'); // so that the call before has arrived
  process.kill(status('both@1').pid, 'SIGKILL');
  await lost;
  assert.equal(await again(old, 'era'), 'legacy');
  await until('the new process', () => status('both@1').life === 2);
  if (!status('both').url) assert.equal(await tools(), before, 'tools of the other process'); // elsewhere it is the same server
  assert.equal(status('both').life, 2);
  assert.equal(await call(one, 'era'), 'modern');
  await one.close();
  await two.close();
  // The next ones get the process of their generation.
  const next = await attach('both', 'legacy');
  const newer = await attach('both', { pin: newest });
  assert.equal(await call(newer, 'era'), 'modern');
  assert.equal(await call(next, 'era'), 'legacy');
  assert.equal(status('both').life, 2);
  for (const a of [old, older, next, newer]) await a.close();
}

// The other way round, both at the same moment; what is not pinned is the newest too.
{
  const old = await attach('turn', 'legacy');
  const all = await Promise.all([attach('turn', { pin: newest }), attach('turn', 'auto'), attach('turn', 'legacy'), attach('turn', { pin: newest })]);
  assert.deepEqual(await Promise.all(all.map((a) => call(a, 'era'))), ['modern', 'modern', 'legacy', 'modern']);
  assert.deepEqual(hosts('turn'), ['turn', 'turn@1']);
  const lost = assert.rejects(call(all[0], 'never'), /SIGKILL/);
  assert.equal(await call(all[1], 'era'), 'modern');
  process.kill(status('turn@1').pid, 'SIGKILL');
  await lost;
  await listens(all[0]);
  await listens(all[3]);
  assert.equal(await call(old, 'era'), 'legacy');
  assert.equal(status('turn').life, 1);
  for (const a of [old, ...all]) await a.close();
}

// A server of the newest generation alone.
{
  const one = await attach('new', { pin: newest });
  assert.equal(await call(one, 'era'), 'modern');
  await listens(one);
  for (let i = 0; i < 2; i++) await assert.rejects(attach('new', 'legacy'), /knows no other|2026-07-28/);
  assert.equal(await call(one, 'era'), 'modern');
  assert.equal(status('new').life, 1);
  await one.close();
  await until('no process for nobody', () => hosts('new').length === 1);
}

// A server of the first SDK: one life serves an agent that asks for the newest first.
{
  const one = await attach('old', 'auto');
  assert.equal(one.client.getProtocolEra(), 'legacy');
  assert.ok((await one.client.listTools()).tools.length > 0);
  assert.equal(status('old').life, 1, 'lives for one agent');
  // A second one shares it, and one that speaks the newest alone is told why it cannot.
  const two = await attach('old', 'auto');
  assert.equal(two.client.getProtocolEra(), 'legacy');
  await assert.rejects(attach('old', { pin: newest }), new RegExp(newest));
  assert.equal(status('old').life, 1);
  await until('no process for nobody', () => hosts('old').length === 1);
  await one.close();
  await two.close();
}
