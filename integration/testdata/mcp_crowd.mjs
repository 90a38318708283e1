// Five agents at once, of each public client SDK of MCP, over stdio and over HTTP, share each
// server. It is killed in the middle of their calls, and hangs in the middle of others.
//
// usage: node mcp_crowd.mjs MODULES HOSTSUP SOCKET URL TOKENFILE
//
// MODULES is the URL of the folder of modules of npm's. The hosts are the keys of calls, and
// are served at URL/HOST/mcp. Fails with a stack.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const [modules, hostsup, socket, base, tokenFile] = process.argv.slice(2);
const at = (path) => import(new URL(path, modules));
const first = {
  ...await at('@modelcontextprotocol/sdk/dist/esm/client/index.js'),
  ...await at('@modelcontextprotocol/sdk/dist/esm/client/stdio.js'),
  ...await at('@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js'),
};
const second = { ...await at('@modelcontextprotocol/client/dist/index.mjs'), ...await at('@modelcontextprotocol/client/dist/stdio.mjs') };
const headers = { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };

// calls has for each host a tool, its arguments, and what its answer matches.
const calls = {
  everything: ['echo', (i) => ({ message: `hello ${i}` }), (i) => new RegExp(`hello ${i}`)],
  filesystem: ['list_allowed_directories', () => ({}), () => /Allowed directories/],
  memory: ['read_graph', () => ({}), () => /entities/],
  thinking: ['sequentialthinking', (i) => ({ thought: 'x', nextThoughtNeeded: true, thoughtNumber: i + 1, totalThoughts: 9 }), (i) => new RegExp(`"thoughtNumber": ${i + 1}`)],
};

const run = promisify(execFile);
async function status(host) {
  const { stdout } = await run(hostsup, ['--socket', socket, 'status', host, '--json']);
  return JSON.parse(stdout).hosts[0];
}

async function until(what, is) {
  for (const end = Date.now() + 120_000; !await is(); await new Promise((r) => setTimeout(r, 50))) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
  }
}

const transports = {
  stdio: (sdk, host) => new sdk.StdioClientTransport({ command: hostsup, args: ['--socket', socket, 'attach', host], stderr: 'ignore' }),
  http: (sdk, host) => new sdk.StreamableHTTPClientTransport(new URL(`${base}/${host}/mcp`), { requestInit: { headers } }),
};

async function crowd(host, sdk, via, hangs) {
  const [tool, args, want] = calls[host];
  const agents = [];
  for (let i = 0; i < 5; i++) {
    const client = new sdk.Client({ name: `agent ${i}`, version: '1' }, { capabilities: {} });
    await client.connect(transports[via](sdk, host), { timeout: 300_000 });
    agents.push(client);
  }
  const ask = (client, i) => client.callTool({ name: tool, arguments: args(i) });
  const answered = (result, i) => assert.match(JSON.stringify(result.content.map((c) => c.text ?? '')).replaceAll('\\"', '"'), want(i));
  const all = async () => (await Promise.all(agents.map(ask))).forEach(answered);
  // lost has all of them call a server that does not run on, until end has ended it.
  const lost = async (end) => {
    let before;
    await until(`${host} runs`, async () => (before = await status(host)).state === 'running');
    process.kill(before.pid, 'SIGSTOP');
    const open = agents.map(ask);
    await end(before.pid);
    for (const outcome of await Promise.allSettled(open)) {
      assert.equal(outcome.status, 'rejected');
      assert.match(outcome.reason.message, /SIGKILL|unresponsive|crashed/);
    }
    await until(`${host} is back`, async () => { const s = await status(host); return s.state === 'running' && s.life > before.life; });
    await all();
  };
  await all();
  // The call that is asked behind the others is on its way when all are.
  await lost(async (pid) => {
    await until('calls are open', async () => (await status(host)).pending >= agents.length);
    process.kill(pid, 'SIGKILL');
  });
  if (hangs) await lost(async () => {}); // it is killed for that
  await Promise.all(agents.map((client) => client.close()));
}

for (const [name, sdk] of Object.entries({ first, second })) {
  for (const via of Object.keys(transports)) {
    const begun = Date.now();
    await Promise.all(Object.keys(calls).map((host) => crowd(host, sdk, via, (name === 'first') === (via === 'stdio'))));
    console.log(`${name} SDK over ${via}: ${Date.now() - begun} ms`);
  }
}
