// What an extension with a language server consists of: VS Code's own client of LSP in front of it. The
// servers are those of extensions whose own code is not on npm; package.json says which one.
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

exports.activate = async (context) => {
  const { name, module, args, transport, languages, section, initialization } = context.extension.packageJSON.server;
  const run = { module, args, transport: TransportKind[transport] };
  client = new LanguageClient(section, name, { run, debug: run }, {
    documentSelector: languages.map((language) => ({ scheme: 'file', language })),
    synchronize: { configurationSection: section, fileEvents: vscode.workspace.createFileSystemWatcher('**/*') },
    initializationOptions: initialization,
  });
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

// Before version 8 of the library, start returns no promise.
async function started() {
  const running = client.start();
  await (client.onReady ? client.onReady() : running);
}
