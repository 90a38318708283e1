// Agents made with the first public client SDK of MCP. They reach their server over HTTP,
// which hostsup serves, kill it under themselves, and stop the supervisor in the end.
//
// usage: node mcp_http_client.mjs SDK HOSTSUP SOCKET URL TOKENFILE
//
// SDK is the URL of the SDK's folder of modules; the host "every" is its everything server.
// Fails with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';

const [sdk, hostsup, socket, address, tokenFile] = process.argv.slice(2);
const { Client } = await import(new URL('client/index.js', sdk));
const { StreamableHTTPClientTransport } = await import(new URL('client/streamableHttp.js', sdk));
const { CreateMessageRequestSchema, ElicitRequestSchema, ToolListChangedNotificationSchema } = await import(new URL('types.js', sdk));
const url = new URL(address);
const token = readFileSync(tokenFile, 'utf8').trim();
const bearer = { Authorization: `Bearer ${token}` };

const verb = (...args) => execFileSync(hostsup, ['--socket', socket, ...args], { encoding: 'utf8' });
const status = () => JSON.parse(verb('status', '--json'));
const every = () => status().hosts.find((h) => h.name === 'every');
const kill = () => process.kill(every().pid, 'SIGKILL');

async function until(what, is) {
  for (const end = Date.now() + 60_000; !is(); await new Promise((r) => setTimeout(r, 10))) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
  }
}

const late = /progress notification for an unknown token|response for an unknown message ID/;

// agent begins a session.
async function agent(name) {
  const client = new Client({ name, version: '1' }, { capabilities: { sampling: {}, elicitation: {} } });
  const got = { client, changed: 0, asked: [], told: [], errors: [] };
  client.setRequestHandler(CreateMessageRequestSchema, (r) => {
    got.asked.push(r.method);
    return { model: name, role: 'assistant', content: { type: 'text', text: `sampled by ${name}` } };
  });
  client.setRequestHandler(ElicitRequestSchema, (r) => {
    got.asked.push(r.method);
    return { action: 'decline' };
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { got.changed++; });
  client.onerror = (err) => { if (!late.test(err.message)) got.errors.push(err); };
  got.transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: bearer } });
  await client.connect(got.transport);
  assert.ok(got.transport.sessionId);
  const sdks = got.transport.onmessage;
  got.transport.onmessage = (m, ...more) => {
    if (m.method === 'notifications/progress') got.told.push(m.params.progress);
    sdks(m, ...more);
  };
  got.close = async () => {
    assert.deepEqual(got.errors, [], 'what the SDK could not make sense of');
    await got.transport.terminateSession();
    await client.close();
  };
  return got;
}

const text = (result) => {
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content.map((c) => c.text).join('');
};
const echo = async (a, message) => text(await a.client.callTool({ name: 'echo', arguments: { message } }));
const long = (a, duration, steps, options) => a.client.callTool({ name: 'trigger-long-running-operation', arguments: { duration, steps } }, undefined, options);

// again calls until it works, which is at once or after one error.
async function again(call) {
  try {
    return await call();
  } catch (err) {
    assert.match(err.message, /SIGKILL|restart/);
    return await call();
  }
}

// raw makes a request without the SDK. It returns the status.
function raw(method, headers, body, path = url.pathname) {
  return new Promise((resolve, reject) => {
    const r = request({ host: url.hostname, port: url.port, path, method, headers: { Host: url.host, ...headers } }, (res) => {
      let body = '';
      res.on('data', (b) => { body += b; });
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body }));
    });
    r.on('error', reject);
    r.end(body);
  });
}

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

// Who is not let in, and what is no request.
{
  for (const [want, method, headers, body, path] of [
    [401, 'POST', { ...json }, ping],
    [401, 'POST', { ...json, Authorization: `Bearer ${token}x` }, ping],
    [403, 'POST', { ...json, ...bearer, Origin: 'https://evil.example' }, ping],
    [403, 'POST', { ...json, ...bearer, Host: 'evil.example' }, ping],
    [403, 'GET', { ...bearer, Accept: 'text/event-stream', Host: 'evil.example' }],
    [404, 'POST', { ...json, ...bearer }, ping, '/other/mcp'],
    [405, 'PUT', { ...json, ...bearer }, ping],
    [406, 'POST', { ...json, ...bearer, Accept: 'text/html' }, ping],
    [406, 'GET', { ...bearer, Accept: 'application/json' }],
    [415, 'POST', { ...json, ...bearer, 'Content-Type': 'text/plain' }, ping],
    [400, 'POST', { ...json, ...bearer }, ping],
    [400, 'POST', { ...json, ...bearer }, '{'],
    [400, 'POST', { ...json, ...bearer }, '{"hello":1}'],
    [404, 'POST', { ...json, ...bearer, 'Mcp-Session-Id': 'none' }, ping],
    [404, 'DELETE', { ...bearer, 'Mcp-Session-Id': 'none' }],
    [413, 'POST', { ...json, ...bearer }, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${'x'.repeat(5 << 20)}"}}`],
  ]) {
    const res = await raw(method, headers, body, path);
    assert.equal(res.status, want, `${method} ${JSON.stringify(headers)}: ${res.body}`);
  }
}

// What an agent does, two of them at once, and a crash in the middle of a call.
{
  const one = await agent('one');
  const two = await agent('two');
  assert.equal(every().life, 1, 'one server for both');
  assert.ok((await one.client.listTools()).tools.length > 5);
  assert.match(await echo(one, 'hello'), /hello/);
  assert.match(text(await long(one, 0.3, 3, { onprogress() {} })), /completed/i);
  assert.deepEqual(one.told, [1, 2, 3]);
  assert.deepEqual(two.told, []);
  // What the server asks because of a call goes to its caller.
  const sampled = text(await two.client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } }));
  assert.match(sampled, /sampled by two/);
  assert.deepEqual([one.asked, two.asked], [[], ['sampling/createMessage']]);

  // A call takes longer than the time after which its answer is a stream.
  one.told.length = 0;
  assert.match(text(await long(one, 2, 1, { onprogress() {} })), /completed/i);
  assert.deepEqual(one.told, [1]);

  // A call that is taken back.
  const stop = new AbortController();
  await assert.rejects(long(one, 600, 6000, { signal: stop.signal, onprogress: () => stop.abort() }));
  assert.match(await echo(one, 'still'), /still/);

  let begun;
  const running = new Promise((r) => { begun = r; });
  const lost = assert.rejects(long(one, 600, 6000, { onprogress: () => begun() }), /SIGKILL/);
  const other = assert.rejects(long(two, 600, 1), /SIGKILL/);
  await running;
  kill();
  await Promise.all([lost, other]);
  assert.match(await again(() => echo(one, 'again')), /again/);
  assert.match(await again(() => echo(two, 'again')), /again/);
  await until('news of the tools', () => one.changed > 0 && two.changed > 0);
  assert.equal(every().life, 2);
  verb('restart', 'every');
  assert.match(await again(() => echo(one, 'restarted')), /restarted/);
  await two.close();

  // Sessions of others, and that have ended, are none.
  const id = one.transport.sessionId;
  const here = { ...json, ...bearer, 'Mcp-Session-Id': id };
  assert.equal((await raw('POST', here, ping)).status, 200);
  assert.equal((await raw('POST', { ...here, 'MCP-Protocol-Version': '1999-01-01' }, ping)).status, 400);
  assert.equal((await raw('POST', { ...here, 'MCP-Protocol-Version': '2025-06-18' }, `[${ping}]`)).status, 400);
  assert.equal((await raw('POST', { ...here, 'MCP-Protocol-Version': '2025-03-26' }, `[${ping},${ping}]`)).status, 400);
  const both = await raw('POST', { ...here, 'MCP-Protocol-Version': '2025-03-26' }, '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]');
  assert.deepEqual(JSON.parse(both.body).map((m) => m.id).sort(), ['a', 'b']);
  assert.equal((await raw('GET', { ...here, 'Last-Event-ID': '99-1' })).status, 400);
  await one.close();
  assert.equal((await raw('POST', here, ping)).status, 404);
}

// events makes a request whose answer is a stream, and yields the events of it.
async function* events(method, headers, body, stop) {
  const res = await fetch(url, { method, headers: { ...bearer, ...headers }, body, signal: stop?.signal });
  assert.equal(res.status, 200, await (res.status === 200 ? '' : res.text()));
  assert.match(res.headers.get('content-type'), /^text\/event-stream/);
  let rest = '';
  const decoder = new TextDecoder();
  for await (const part of res.body) {
    rest += decoder.decode(part, { stream: true });
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const event = {};
      for (const line of rest.slice(0, end).split('\n')) {
        const at = line.indexOf(':');
        if (at > 0) event[line.slice(0, at)] = line.slice(at + 1).trim();
      }
      rest = rest.slice(end + 2);
      if (event.id) yield { id: event.id, message: event.data ? JSON.parse(event.data) : null };
    }
  }
}

// A stream that is cut off goes on behind the last event that was seen.
{
  const one = await agent('one');
  const here = { 'Mcp-Session-Id': one.transport.sessionId, 'MCP-Protocol-Version': '2025-11-25' };
  const call = JSON.stringify({ jsonrpc: '2.0', id: 'long', method: 'tools/call', params: { name: 'trigger-long-running-operation', arguments: { duration: 2, steps: 20 }, _meta: { progressToken: 'p' } } });
  const seen = [];
  let last;
  const stop = new AbortController();
  try {
    for await (const e of events('POST', { ...json, ...here }, call, stop)) {
      last = e.id;
      if (e.message) seen.push(e.message);
      if (seen.length === 3) stop.abort();
    }
    assert.fail('it was not cut off');
  } catch (err) {
    assert.equal(err.name, 'AbortError');
  }
  for await (const e of events('GET', { Accept: 'text/event-stream', ...here, 'Last-Event-ID': last })) {
    last = e.id;
    if (e.message) seen.push(e.message);
  }
  assert.deepEqual(seen.map((m) => m.params?.progress ?? m.id), [...Array.from({ length: 20 }, (_, i) => i + 1), 'long']);
  assert.equal((await raw('GET', { ...bearer, ...here, Accept: 'text/event-stream', 'Last-Event-ID': last })).status, 204);
  // Once more from the middle: what was sent is kept for a while.
  const number = last.split('-')[0];
  const later = [];
  for await (const e of events('GET', { Accept: 'text/event-stream', ...here, 'Last-Event-ID': `${number}-18` })) if (e.message) later.push(e.message);
  assert.deepEqual(later.map((m) => m.params?.progress ?? m.id), [19, 20, 'long']);
  await one.close();
}

// The supervisor stops: the call that is open is answered.
{
  const one = await agent('one');
  let begun;
  const running = new Promise((r) => { begun = r; });
  const lost = assert.rejects(long(one, 600, 6000, { onprogress: () => begun() }), /MCP error -32603: .*(stop|clos)/);
  await running;
  process.kill(status().supervisor.pid, 'SIGTERM');
  await lost;
  await one.client.close();
}
