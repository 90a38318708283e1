'use strict'

const vscode = require('vscode')

// Each case throws if the API does not behave as it should.
exports.activate = context => {
  const cases = Object.assign({}, ...['documents', 'edits', 'files', 'events', 'commands', 'windows', 'tasks', 'absent'].map(name => require(`./${name}.js`)(context)))
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('api.' + name, run))
  command('names', () => Object.keys(cases))
  command('run', async name => {
    let late
    try {
      await Promise.race([cases[name](), new Promise((_, reject) => { late = setTimeout(() => reject(new Error('it has not settled')), 20_000) })])
      return ''
    } catch (e) {
      // An error of the editor has no stack.
      return `${e?.stack || `failed: ${e}`}`.split('\n').filter(line => !/^ *at (?!.*acme|.*\/api\/)/.test(line)).join('\n').replaceAll(__dirname, '')
    } finally {
      clearTimeout(late)
    }
  })
}
