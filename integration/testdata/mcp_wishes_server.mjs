// An MCP server made with the public SDK, which tells what it was asked to tell.
//
// usage: node mcp_wishes_server.mjs SDK
//
// SDK is the URL of the SDK's folder of modules. The tool "wishes" returns the
// subscriptions and the level of this process as JSON, with the name and the revision
// of the client that it was opened by; "say" sends a message of each level, and news of
// each resource of which there is a subscription.
const [sdk] = process.argv.slice(2);
const { Server } = await import(new URL('server/index.js', sdk));
const { StdioServerTransport } = await import(new URL('server/stdio.js', sdk));
const types = await import(new URL('types.js', sdk));

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const server = new Server({ name: 'wishes', version: '1' }, { capabilities: { tools: {}, resources: { subscribe: true }, logging: {} } });
const watched = new Set();
let level = null;
let revision = null;
server.setRequestHandler(types.SubscribeRequestSchema, ({ params }) => {
  if (params.uri === 'x://none') throw new types.McpError(types.ErrorCode.InvalidParams, 'no such resource');
  watched.add(params.uri);
  return {};
});
server.setRequestHandler(types.UnsubscribeRequestSchema, ({ params }) => {
  watched.delete(params.uri);
  return {};
});
server.setRequestHandler(types.SetLevelRequestSchema, ({ params }) => {
  level = params.level;
  return {};
});
server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: ['wishes', 'say'].map((name) => ({ name, inputSchema: { type: 'object' } })) }));
server.setRequestHandler(types.CallToolRequestSchema, async ({ params }) => {
  if (params.name === 'say') {
    for (const l of levels.slice(level ? levels.indexOf(level) : 0)) await server.notification({ method: 'notifications/message', params: { level: l, data: l } });
    for (const uri of watched) await server.sendResourceUpdated({ uri });
    await server.sendResourceUpdated({ uri: 'x://part/of' });
  }
  const text = JSON.stringify({ watched: [...watched].sort(), level, client: server.getClientVersion().name, revision });
  return { content: [{ type: 'text', text }] };
});
const transport = new StdioServerTransport();
await server.connect(transport);
const sdks = transport.onmessage;
transport.onmessage = (m, ...more) => {
  if (m.method === 'initialize') revision = m.params.protocolVersion;
  sdks(m, ...more);
};
