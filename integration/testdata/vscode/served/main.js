const vscode = require('vscode')

const text = value => new vscode.LanguageModelTextPart(value)
const result = (...parts) => new vscode.LanguageModelToolResult(parts)

exports.activate = context => {
  let cancelled = 0
  const add = async ({ input }) => {
    if (input.numbers.length === 0) throw new Error('there are no numbers')
    const sum = String(input.numbers.reduce((a, b) => a + b, 0))
    return result(text(sum), vscode.LanguageModelDataPart.json({ sum }), vscode.LanguageModelDataPart.image(Buffer.from('png'), 'image/png'))
  }
  const wait = async (options, token) => {
    await new Promise(done => token.onCancellationRequested(done))
    cancelled++
    return result(text('cancelled'))
  }
  const die = async () => process.kill(process.pid, 'SIGKILL')
  for (const [name, invoke] of Object.entries({ add, wait, die })) context.subscriptions.push(vscode.lm.registerTool('served_' + name, { invoke }))

  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand(name, run))
  command('served.greet', (...names) => (names.length > 0 ? names.map(name => 'hello ' + name) : undefined))
  command('served.cancelled', () => cancelled)
  command('served.later', () => command('served.new', () => 'new'))
  command('private.secret', () => 'secret')
}
