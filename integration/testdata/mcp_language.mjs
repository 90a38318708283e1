// Agents of both public client SDKs of MCP use the language features of VS Code extensions, through
// `hostsup attach` and over HTTP. The host is killed while it answers.
//
// usage: node mcp_language.mjs MODULES HOSTSUP SOCKET URL TOKENFILE FOLDER
//
// MODULES is the URL of the folder of modules of npm's. The host "code" works in FOLDER, which has
// a.acme and hang.acme. Fails with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const [modules, hostsup, socket, base, tokenFile, folder] = process.argv.slice(2);
const load = (path) => import(new URL(path, modules));
const first = 'sdk/dist/esm/client';
const sdks = [
  { ...await load(`@modelcontextprotocol/${first}/index.js`), ...await load(`@modelcontextprotocol/${first}/stdio.js`), ...await load(`@modelcontextprotocol/${first}/streamableHttp.js`) },
  { ...await load('@modelcontextprotocol/client/dist/index.mjs'), ...await load('@modelcontextprotocol/client/dist/stdio.mjs') },
];
const headers = { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };
const pid = () => JSON.parse(execFileSync(hostsup, ['--socket', socket, 'status', '--json'], { encoding: 'utf8' })).hosts.find((h) => h.name === 'code').pid;

async function until(what, is) {
  for (const end = Date.now() + 60_000; !is(); await new Promise((r) => setTimeout(r, 10))) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
  }
}

const file = `${folder}/a.acme`;
const hang = `${folder}/hang.acme`;
for (const sdk of sdks) {
  for (const transport of [
    new sdk.StdioClientTransport({ command: hostsup, args: ['--socket', socket, 'attach', 'code'], stderr: 'inherit' }),
    new sdk.StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers } }),
  ]) {
    const client = new sdk.Client({ name: 'agent', version: '1' }, { capabilities: {}, versionNegotiation: { mode: 'auto' } });
    await client.connect(transport);
    const { tools } = await client.listTools();
    const mine = tools.filter((t) => t.name.startsWith('language_'));
    assert.equal(mine.length, 25);
    for (const tool of mine) assert.equal(tool.annotations.readOnlyHint, true, tool.name);

    const call = (name, args) => client.callTool({ name: `language_${name}`, arguments: args });
    const at = { file: 'a.acme', line: 2, column: 2 };
    let got = await call('definition', at);
    assert.equal(got.content[0].text, `${file}:1:5`);
    assert.deepEqual(got.structuredContent.results[0].range, { start: { line: 1, column: 5 }, end: { line: 1, column: 8 } });
    got = await call('rename', { ...at, newName: 'uno' });
    assert.deepEqual(got.structuredContent.edits.map((e) => e.file), [file, file, file]);
    got = await call('actions', { file: 'a.acme', kind: 'refactor' });
    assert.deepEqual(got.structuredContent.results.map((a) => a.title), ['extract it']);
    got = await call('action', { file: 'a.acme', kind: 'refactor', title: got.structuredContent.results[0].title });
    assert.equal(got.structuredContent.edits[0].textEdit.text, 'extract it');
    got = await call('hover', { ...at, file: `${folder}/../a.acme` });
    assert.ok(got.isError);
    assert.match(got.content[0].text, /not in a workspace folder/);

    // A question that reads is asked again in the next life.
    rmSync(`${hang}.asked`, { force: true });
    writeFileSync(`${hang}.hang`, '');
    const asked = call('hover', { file: hang, line: 1, column: 2 });
    await until('the question at the extension', () => existsSync(`${hang}.asked`));
    rmSync(`${hang}.hang`);
    const killed = pid();
    process.kill(killed, 'SIGKILL');
    got = await asked;
    assert.match(got.content[0].text, /speaker: hang/);
    assert.ok(!got.isError);
    assert.notEqual(pid(), killed);
    await client.close();
  }
}
