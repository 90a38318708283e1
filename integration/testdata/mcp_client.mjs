// An agent made with the public MCP client SDK. It reaches its servers by
// running `hostsup attach`, and kills them under itself.
//
// usage: node mcp_client.mjs SDK HOSTSUP SOCKET FOLDER
//
// SDK is the URL of the SDK's folder of modules, FOLDER what the host "files"
// may use. Prints the pids of all servers it has seen; fails with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [sdk, hostsup, socket, folder] = process.argv.slice(2);
const { Client } = await import(new URL('client/index.js', sdk));
const { StdioClientTransport } = await import(new URL('client/stdio.js', sdk));
const { ListRootsRequestSchema, ToolListChangedNotificationSchema } = await import(new URL('types.js', sdk));

const seen = new Set();

// status is what the supervisor says of a host.
function status(host) {
  const out = execFileSync(hostsup, ['--socket', socket, 'status', '--json'], { encoding: 'utf8' });
  const found = JSON.parse(out).hosts.find((h) => h.name === host);
  if (found.pid) seen.add(found.pid);
  return found;
}

function kill(host) {
  process.kill(status(host).pid, 'SIGKILL');
}

// What may come late: progress of a call that is over, as the SDK looks at
// notifications after the responses that it has read along with them, and the
// answer to a call that was cancelled, which it is for the caller to ignore.
const late = /progress notification for an unknown token|response for an unknown message ID.*cancelled/;

// steps checks what was told of the last operation, which took n of them.
function steps(told, n) {
  assert.deepEqual(told.map((p) => p.progress), Array.from({ length: n }, (_, i) => i + 1));
  assert.equal(new Set(told.map((p) => p.progressToken)).size, 1);
  told.length = 0;
}

// attach connects a client, and keeps what the server asks and tells.
async function attach(host) {
  const client = new Client({ name: 'agent', version: '1' }, { capabilities: { roots: { listChanged: true } } });
  const got = { roots: 0, changed: 0, told: [], errors: [] };
  Object.defineProperty(got, 'client', { value: client }); // not to be printed
  client.setRequestHandler(ListRootsRequestSchema, () => {
    got.roots++;
    return { roots: [{ uri: pathToFileURL(folder).href, name: 'work' }] };
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { got.changed++; });
  client.onerror = (err) => { if (!late.test(err.message)) got.errors.push(err); };
  const transport = new StdioClientTransport({ command: hostsup, args: ['--socket', socket, 'attach', host] });
  await client.connect(transport);
  const sdks = transport.onmessage;
  transport.onmessage = (m, ...more) => {
    if (m.method === 'notifications/progress') got.told.push(m.params);
    sdks(m, ...more);
  };
  const exit = once(transport._process, 'exit');
  got.close = async () => {
    assert.deepEqual(got.errors, [], 'what the SDK could not make sense of');
    await client.close();
    assert.deepEqual(await exit, [0, null], `hostsup attach ${host} ended otherwise`);
  };
  return got;
}

// until waits for what comes by itself.
async function until(what, is, ...shown) {
  for (const end = Date.now() + 60_000; !is(); await new Promise((r) => setTimeout(r, 10))) {
    if (Date.now() > end) throw new Error(`never: ${what}: ${JSON.stringify(shown)}`);
  }
}

const text = (result) => {
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content.map((c) => c.text).join('');
};

// again calls until it works, which is at once or after one error.
async function again(call) {
  try {
    return await call();
  } catch (err) {
    assert.match(err.message, /SIGKILL/);
    return await call();
  }
}

// Files.
{
  const one = await attach('files');
  const { client } = one;
  assert.ok(client.getServerVersion().name);
  const tools = (await client.listTools()).tools.map((t) => t.name);
  assert.ok(tools.includes('read_text_file') && tools.includes('write_file'), tools);
  await until('the server asks for roots', () => one.roots === 1, one);
  const path = join(folder, 'note.txt');
  const write = (content) => client.callTool({ name: 'write_file', arguments: { path, content } });
  const read = async (c = client) => text(await c.callTool({ name: 'read_text_file', arguments: { path } }));
  text(await write('one\n'));
  assert.equal(readFileSync(path, 'utf8'), 'one\n');
  assert.equal(await read(), 'one\n');
  const outside = await client.callTool({ name: 'read_text_file', arguments: { path: '/etc/passwd' } });
  assert.ok(outside.isError, 'a file outside of its folder');

  // Another one shares the server.
  const two = await attach('files');
  assert.equal(await read(two.client), 'one\n');
  assert.equal(status('files').life, 1);

  // It is killed between two calls, and in the middle of many.
  kill('files');
  assert.equal(await again(() => read()), 'one\n');
  await until('news of the tools', () => one.changed === 1 && two.changed === 1, one, two);
  await until('the new server asks for roots', () => one.roots === 2, one, two);
  assert.equal(status('files').life, 2);
  const many = Array.from({ length: 50 }, (_, i) => read(i % 2 ? client : two.client));
  kill('files');
  for (const r of await Promise.allSettled(many)) {
    if (r.status === 'fulfilled') assert.equal(r.value, 'one\n');
    else assert.match(r.reason.message, /SIGKILL/);
  }
  text(await again(() => write('two\n')));
  assert.equal(await again(() => read(two.client)), 'two\n');
  assert.equal(status('files').life, 3);
  assert.equal((await client.listTools()).tools.length, tools.length);
  await two.close();
  await client.ping();
  await one.close();
}

// Everything else that a client does.
{
  const one = await attach('every');
  const { client } = one;
  const long = (duration, steps, options) => client.callTool({ name: 'trigger-long-running-operation', arguments: { duration, steps } }, undefined, options);
  assert.match(text(await long(0.3, 3, { onprogress() {} })), /completed/i);
  steps(one.told, 3);
  assert.ok((await client.listResources()).resources.length > 0);
  assert.ok((await client.listPrompts()).prompts.length > 0);

  const stop = new AbortController();
  await assert.rejects(long(600, 6000, { signal: stop.signal, onprogress: () => stop.abort() }));
  assert.match(text(await client.callTool({ name: 'echo', arguments: { message: 'still' } })), /still/);

  let begun;
  const running = new Promise((r) => { begun = r; });
  const lost = assert.rejects(long(600, 6000, { onprogress: () => begun() }), /SIGKILL/);
  await running;
  kill('every');
  await lost;
  assert.match(text(await again(() => client.callTool({ name: 'echo', arguments: { message: 'again' } }))), /again/);
  one.told.length = 0;
  text(await long(0.3, 3, { onprogress() {} }));
  steps(one.told, 3);
  await client.ping();
  assert.equal(status('every').life, 2);
  await one.close();
}

for (const host of ['files', 'every']) assert.equal(status(host).state, 'running');
console.log(JSON.stringify([...seen]));
