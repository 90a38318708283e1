'use strict'

const vscode = require('vscode')

// Each case throws if the API does not behave as it should.
exports.activate = context => {
  const cases = Object.assign({}, ...['documents', 'edits', 'files', 'events', 'commands', 'windows', 'tasks'].map(name => require(`./${name}.js`)(context)))
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('api.' + name, run))
  command('names', () => Object.keys(cases))
  command('run', async name => {
    try {
      await cases[name]()
      return ''
    } catch (e) {
      return `${e.stack}`.split('\n').filter(line => !/^ *at (?!.*acme|.*\/api\/)/.test(line)).join('\n').replaceAll(__dirname, '')
    }
  })
}
