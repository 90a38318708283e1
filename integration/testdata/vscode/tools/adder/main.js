const vscode = require('vscode')

exports.activate = context => {
  context.subscriptions.push(vscode.lm.registerTool('acme_add', {
    async invoke(options, token) {
      const { numbers, forever, die } = options.input
      if (die) process.kill(process.pid, 'SIGKILL')
      if (forever) await new Promise(done => token.onCancellationRequested(done))
      const tokens = options.tokenizationOptions ? await options.tokenizationOptions.countTokens('a b c') : 0
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(`${numbers.reduce((a, b) => a + b, 0)} ${tokens}`)])
    },
  }))
}
