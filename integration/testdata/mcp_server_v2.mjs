// An MCP server made with the second public server SDK, which speaks both generations
// of the protocol: the first request decides which.
//
// usage: node mcp_server_v2.mjs MODULES [reject]
//
// MODULES is the URL of the folder of modules of npm's. With reject it does not speak the
// generation with the handshake. The tool "era" returns the generation, "more" adds a tool
// and tells whoever listens, "never" does not answer.
const [modules, legacy] = process.argv.slice(2);
const at = (path) => import(new URL(path, modules));
const { McpServer } = await at('@modelcontextprotocol/server/dist/index.mjs');
const { serveStdio } = await at('@modelcontextprotocol/server/dist/stdio.mjs');
const { z } = await at('zod/index.js');

const answer = (text) => ({ content: [{ type: 'text', text }] });
const nothing = { description: 'x', inputSchema: z.object({}) };
serveStdio(({ era }) => {
  const server = new McpServer({ name: 'both', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  let more = 0;
  server.registerTool('era', nothing, async () => answer(era));
  server.registerTool('never', nothing, () => new Promise(() => {}));
  server.registerTool('more', nothing, async () => {
    server.registerTool(`more-${++more}`, nothing, async () => answer(''));
    return answer(String(more));
  });
  return server;
}, { legacy: legacy ?? 'serve' });
