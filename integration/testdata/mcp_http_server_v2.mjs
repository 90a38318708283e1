// An MCP server made with the second public server SDK, over HTTP. It speaks both
// generations of the protocol: that with the handshake in sessions, and that without.
//
// usage: node mcp_http_server_v2.mjs MODULES HOST:PORT [reject]
//
// MODULES is the URL of the folder of modules of npm's. With reject it does not speak the
// generation with the handshake. The tool "era" returns the generation, "more" adds a tool
// and tells whoever listens, "never" does not answer, and "region" returns its argument,
// which a header repeats.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';

const [modules, address, legacy] = process.argv.slice(2);
const at = (path) => import(new URL(path, modules));
const { McpServer, createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport } = await at('@modelcontextprotocol/server/dist/index.mjs');
const { z } = await at('zod/index.js');

const answer = (text) => ({ content: [{ type: 'text', text }] });
const nothing = { description: 'x', inputSchema: z.object({}) };
const sessions = new Map(); // of the generation with the handshake
let more = 0;
const add = (server, n) => server.registerTool(`more-${n}`, nothing, async () => answer(''));

function make({ era }) {
  const server = new McpServer({ name: 'both', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('era', nothing, async () => answer(era));
  server.registerTool('region', { description: 'x', inputSchema: z.object({ where: z.string().meta({ 'x-mcp-header': 'Region' }) }) }, async ({ where }) => answer(where));
  server.registerTool('never', nothing, () => new Promise(() => {}));
  server.registerTool('more', nothing, async () => {
    more++;
    for (const s of sessions.values()) add(s.server, more);
    handler.notify.toolsChanged();
    return answer(String(more));
  });
  for (let n = 1; n <= more; n++) add(server, n);
  return server;
}
const handler = createMcpHandler(make, { legacy: 'reject' });

async function session(request) {
  const id = request.headers.get('mcp-session-id');
  if (id) {
    const known = sessions.get(id);
    return known ? known.transport.handleRequest(request) : new Response('no such session', { status: 404 });
  }
  const server = make({ era: 'legacy' });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (name) => { sessions.set(name, { server, transport }); },
    onsessionclosed: (name) => { sessions.delete(name); },
  });
  await server.connect(transport);
  return transport.handleRequest(request);
}

createServer(async (req, res) => {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const body = ['GET', 'HEAD', 'DELETE'].includes(req.method) ? undefined : Readable.toWeb(req);
  const request = new Request(`http://${address}${req.url}`, { method: req.method, headers: req.headers, body, duplex: 'half', signal: gone.signal });
  const old = legacy !== 'reject' && await isLegacyRequest(request.clone());
  const response = old ? await session(request) : await handler.fetch(request);
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body) Readable.fromWeb(response.body).on('error', () => res.destroy()).pipe(res);
  else res.end();
}).listen(Number(address.split(':')[1]), address.split(':')[0]);
