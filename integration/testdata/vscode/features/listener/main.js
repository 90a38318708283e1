// It asks for the features of a document by the commands of the editor, and has some of its own.
const vscode = require('vscode')

exports.activate = context => {
  context.subscriptions.push(
    vscode.languages.registerHoverProvider('*', {
      provideHover: (d, p) => new vscode.Hover([`listener: ${p.line} ${p.character}`]),
    }),
    vscode.languages.registerImplementationProvider({ pattern: '**/*.acme' }, {
      provideImplementation: (d, p) => new vscode.Location(vscode.Uri.file('/listener.acme'), new vscode.Position(4, 5)),
    }),
    vscode.languages.registerCompletionItemProvider('*', { provideCompletionItems: () => [{ label: 'worse' }] }),
    // It evaluates an expression, so that the test says what is asked and what is seen.
    vscode.commands.registerCommand('listener.execute', (path, expression) => {
      const uri = vscode.Uri.file(path)
      const run = (name, ...args) => vscode.commands.executeCommand(`vscode.${name}`, ...args)
      return new Function('vscode', 'uri', 'run', 'at', `return (async () => ${expression})()`)(vscode, uri, run, (l, c) => new vscode.Position(l, c))
    }),
  )
}
