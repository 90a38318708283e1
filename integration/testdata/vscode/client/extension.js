// What an extension with a language server consists of: VS Code's own client of LSP in front of it. The
// servers are those of extensions whose own code is not on npm; package.json says which one.
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

exports.activate = async (context) => {
  const { contributes, server } = context.extension.packageJSON;
  const { name, module, args, transport, languages, section, initialization, configuration } = server;
  const run = { module, args, transport: TransportKind[transport] };
  client = new LanguageClient(section, name, { run, debug: run }, {
    documentSelector: languages.map((language) => ({ scheme: 'file', language })),
    synchronize: { configurationSection: section, fileEvents: vscode.workspace.createFileSystemWatcher('**/*') },
    initializationOptions: initialization,
    middleware: configuration ? { workspace: { configuration: ({ items }) => items.map(() => ({ ...configuration, workspaceFolder: folder() })) } } : {},
  });
  if (contributes.typescriptServerPlugins.length > 0) {
    // The server asks its plugin in TypeScript's server by way of its client.
    client.onNotification('tsserver/request', async ([id, command, request]) => {
      const answer = await vscode.commands.executeCommand('typescript.tsserverRequest', command, request, { isAsync: true, lowPriority: true });
      await client.sendNotification('tsserver/response', [id, answer?.body]);
    });
  }
  context.subscriptions.push(
    vscode.commands.registerCommand(`${section}.restart`, async () => {
      await client.stop();
      await started();
      return client.initializeResult.serverInfo?.name ?? name;
    }),
  );
  await started();
};

exports.deactivate = () => client?.stop();

// The folder of the workspace, as ESLint's server is told it.
function folder() {
  const { name, uri } = vscode.workspace.workspaceFolders[0];
  return { name, uri: uri.toString() };
}

// Before version 8 of the library, start returns no promise.
async function started() {
  const running = client.start();
  await (client.onReady ? client.onReady() : running);
}
